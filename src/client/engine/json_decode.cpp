#include "client/engine/json_decode.hpp"

#include "client/engine/json_fields.hpp"
#include "shared/core/text.hpp"
#include "shared/core/timestamp.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <limits>

namespace dockdist {
namespace {

using nlohmann::json;

template <class T>
Result<T> checked(T value, const JsonFields& fields) {
    if (fields.failure()) {
        return *fields.failure();
    }
    return value;
}

ContainerState decode_state(const std::string& word, JsonFields& fields, const char* name) {
    // Docker's seven, then Podman's own.
    constexpr std::array<std::pair<std::string_view, ContainerState>, 12> words{{
        {"created", ContainerState::created},
        {"running", ContainerState::running},
        {"paused", ContainerState::paused},
        {"restarting", ContainerState::restarting},
        {"removing", ContainerState::removing},
        {"exited", ContainerState::exited},
        {"dead", ContainerState::dead},
        {"configured", ContainerState::created},
        {"initialized", ContainerState::created},
        {"stopping", ContainerState::removing}, // as good as gone: neither runs nor starts
        {"stopped", ContainerState::exited},
        {"unknown", ContainerState::dead},
    }};
    for (const auto& [known, state] : words) {
        if (known == word) {
            return state;
        }
    }
    fields.fail(name, "a state of a container that is known");
    return ContainerState::created;
}

std::string without_slash(std::string name) {
    if (name.starts_with('/')) {
        name.erase(0, 1);
    }
    return name;
}

PullProgress pull_progress(JsonFields& fields) {
    PullProgress progress;
    progress.layer = fields.text("id");
    progress.status = fields.text("status");
    auto counts = fields.object("progressDetail");
    // Of an extraction, containerd's image store counts the seconds (moby, daemon/containerd/progress.go).
    const bool counts_bytes = counts.text("units").empty();
    if (counts_bytes && counts.find("current") != nullptr) {
        progress.current = counts.natural("current");
    }
    if (counts_bytes && counts.find("total") != nullptr) {
        progress.total = counts.natural("total");
    }
    fields.take(counts);
    return progress;
}

int to_int(std::int64_t number) {
    constexpr std::int64_t lowest = std::numeric_limits<int>::min(),
                           highest = std::numeric_limits<int>::max();
    return static_cast<int>(std::clamp(number, lowest, highest));
}

// A device that nobody asks for by such a name, or could find in a message, is as good as not there.
constexpr std::size_t longest_device_name = 256;
constexpr std::size_t most_devices = 4096;

} // namespace

Result<EngineInfo> decode_info(std::string_view text, ApiVersion negotiated) {
    const auto value = parse_json(text, "the answer to GET /info");
    TRY(value);
    JsonFields fields(*value, "the answer to GET /info");
    EngineInfo info;
    info.api = negotiated;
    info.version = fields.text("ServerVersion");
    info.name = fields.text("Name");
    info.operating_system = fields.text("OperatingSystem");
    info.kernel = fields.text("KernelVersion");
    info.architecture = fields.text("Architecture");
    info.os_type = fields.text("OSType");
    info.runtimes = fields.keys("Runtimes");
    info.system_time = fields.text("SystemTime");
    info.root_dir = fields.text("DockerRootDir");
    info.cpus = fields.natural("NCPU");
    info.memory = Bytes{fields.natural("MemTotal")};
    info.rootless = fields.flag("Rootless"); // Podman
    for (const auto& option : fields.texts("SecurityOptions")) {
        info.rootless = info.rootless || option == "name=rootless" || option == "rootless";
        info.remaps_users = info.remaps_users || option == "name=userns";
        info.selinux = info.selinux || option == "name=selinux";
    }
    auto plugins = fields.object("Plugins");
    info.authorization_plugins = plugins.texts("Authorization");
    fields.take(plugins);
    info.cdi_spec_dirs = fields.texts("CDISpecDirs");
    if (const auto* devices = fields.find("DiscoveredDevices"); devices != nullptr && devices->is_array()) {
        for (const auto& device : *devices) {
            JsonFields entry(device, "the answer to GET /info: DiscoveredDevices");
            auto name = entry.text("Source") == "cdi" ? entry.text("ID") : std::string();
            if (!name.empty() && name.size() <= longest_device_name &&
                info.cdi_devices.size() < most_devices) {
                info.cdi_devices.push_back(std::move(name));
            }
            fields.take(entry);
        }
    }
    return checked(std::move(info), fields);
}

Result<std::vector<ContainerSummary>> decode_container_list(std::string_view text) {
    const std::string what = "the list of containers";
    const auto value = parse_json(text, what);
    TRY(value);
    if (!value->is_array()) {
        return Error{ErrorKind::protocol, "", what + " is not a list", ""};
    }
    std::vector<ContainerSummary> result;
    for (const auto& row : *value) {
        JsonFields fields(row, what);
        ContainerSummary summary;
        summary.id = ContainerId(fields.text("Id"));
        const auto names = fields.texts("Names");
        summary.name = names.empty() ? std::string() : without_slash(names.front());
        summary.image = ImageRef(fields.text("Image"));
        summary.image_id = fields.text("ImageID");
        summary.state = decode_state(fields.text("State"), fields, "State");
        summary.labels = fields.map("Labels");
        summary.created_s = fields.integer("Created");
        if (fields.failure()) {
            return *fields.failure();
        }
        result.push_back(std::move(summary));
    }
    return result;
}

std::vector<DeviceRequest> decode_device_requests(JsonFields& host) {
    std::vector<DeviceRequest> requests;
    const auto* list = host.find("DeviceRequests");
    if (list == nullptr || !list->is_array()) { // Podman does not tell them
        return requests;
    }
    for (const auto& item : *list) {
        if (!item.is_object()) {
            host.fail("DeviceRequests", "a list of objects");
            break;
        }
        JsonFields request(item, "a device request");
        requests.push_back({.driver = request.text("Driver"),
                            .count = to_int(request.integer("Count")),
                            .device_ids = request.texts("DeviceIDs")});
        host.take(request);
    }
    return requests;
}

Result<ContainerDetails> decode_container(std::string_view text) {
    const std::string what = "the details of a container";
    const auto value = parse_json(text, what);
    TRY(value);
    JsonFields fields(*value, what);
    ContainerDetails details;
    details.id = ContainerId(fields.text("Id"));
    details.name = without_slash(fields.text("Name"));
    details.image_id = fields.text("Image");
    auto state = fields.object("State");
    details.state = decode_state(state.text("Status"), state, "Status");
    details.exit_code = to_int(state.integer("ExitCode"));
    details.oom_killed = state.flag("OOMKilled");
    details.error = state.text("Error");
    details.started_at = state.text("StartedAt");
    fields.take(state);
    auto config = fields.object("Config");
    details.labels = config.map("Labels");
    fields.take(config);
    auto host = fields.object("HostConfig");
    details.device_requests = decode_device_requests(host);
    fields.take(host);
    return checked(std::move(details), fields);
}

Result<std::string> decode_id(std::string_view text, std::string_view what) {
    const auto value = parse_json(text, what);
    TRY(value);
    JsonFields fields(*value, std::string(what));
    auto id = fields.text("Id");
    if (id.empty()) {
        fields.fail("Id", "there");
    }
    return checked(std::move(id), fields);
}

Result<ExecState> decode_exec(std::string_view text) {
    const std::string what = "the state of an exec";
    const auto value = parse_json(text, what);
    TRY(value);
    JsonFields fields(*value, what);
    ExecState state;
    state.running = fields.flag("Running");
    state.pid = to_int(fields.integer("Pid"));
    if (!state.running && fields.find("ExitCode") != nullptr) { // Podman says 0 while it runs
        state.exit_code = to_int(fields.integer("ExitCode"));
    }
    return checked(state, fields);
}

Result<ImageDetails> decode_image(std::string_view text) {
    const std::string what = "the details of an image";
    const auto value = parse_json(text, what);
    TRY(value);
    JsonFields fields(*value, what);
    ImageDetails image;
    image.id = fields.text("Id");
    image.repo_tags = fields.texts("RepoTags");
    image.repo_digests = fields.texts("RepoDigests");
    image.architecture = fields.text("Architecture");
    image.os = fields.text("Os");
    image.created = fields.text("Created");
    image.size = Bytes{fields.natural("Size")};
    auto root = fields.object("RootFS");
    image.layers = root.texts("Layers");
    fields.take(root);
    auto config = fields.object("Config");
    image.env = config.texts("Env");
    image.entrypoint = config.texts("Entrypoint");
    image.command = config.texts("Cmd");
    image.user = config.text("User");
    image.working_dir = config.text("WorkingDir");
    fields.take(config);
    return checked(std::move(image), fields);
}

namespace {

Result<VolumeDetails> volume_of(const json& row, const std::string& what) {
    JsonFields fields(row, what);
    VolumeDetails volume;
    volume.name = fields.text("Name");
    volume.labels = fields.map("Labels");
    if (const auto created = parse_timestamp(fields.text("CreatedAt"))) {
        volume.created_s = std::chrono::system_clock::to_time_t(*created);
    }
    return checked(std::move(volume), fields);
}

} // namespace

Result<VolumeDetails> decode_volume(std::string_view text) {
    const std::string what = "the details of a volume";
    const auto value = parse_json(text, what);
    return value ? volume_of(*value, what) : value.error();
}

Result<std::vector<VolumeDetails>> decode_volume_list(std::string_view text) {
    const std::string what = "the list of volumes";
    const auto value = parse_json(text, what);
    TRY(value);
    JsonFields fields(*value, what);
    std::vector<VolumeDetails> volumes;
    const auto* rows = fields.find("Volumes"); // null where there are none
    if (rows != nullptr && !rows->is_array()) {
        fields.fail("Volumes", "a list");
    }
    for (const auto& row : rows != nullptr && rows->is_array() ? *rows : json::array()) {
        auto volume = volume_of(row, what);
        TRY(volume);
        volumes.push_back(std::move(*volume));
    }
    return checked(std::move(volumes), fields);
}

Result<EngineEvent> decode_event(std::string_view line) {
    const auto value = parse_json(line, "an event");
    TRY(value);
    JsonFields fields(*value, "an event");
    EngineEvent event;
    event.type = fields.text("Type");
    event.action = fields.text("Action");
    event.time_ns = fields.integer("timeNano");
    auto actor = fields.object("Actor");
    event.id = actor.text("ID");
    event.attributes = actor.map("Attributes");
    fields.take(actor);
    return checked(std::move(event), fields);
}

Result<PullProgress> decode_pull_message(std::string_view line) {
    const auto value = parse_json(line, "a message of the pull");
    TRY(value);
    JsonFields fields(*value, "a message of the pull");
    auto detail = fields.object("errorDetail");
    auto failure = detail.text("message");
    if (failure.empty()) {
        failure = fields.text("error");
    }
    if (!failure.empty()) {
        return Error{ErrorKind::engine, "", printable(failure), ""};
    }
    return checked(pull_progress(fields), fields);
}

Result<BuildMessage> decode_build_message(std::string_view line) {
    const auto value = parse_json(line, "a message of the build");
    TRY(value);
    JsonFields fields(*value, "a message of the build");
    BuildMessage message;
    auto detail = fields.object("errorDetail");
    message.error = detail.text("message");
    if (message.error.empty()) {
        message.error = fields.text("error");
    }
    if (!message.error.empty()) {
        const auto end = message.error.find_last_not_of(" \r\n");
        message.error = printable(message.error.substr(0, end == std::string::npos ? 0 : end + 1));
        message.error = message.error.empty() ? "it failed without a message" : message.error;
        if (detail.find("code") != nullptr) {
            message.exit_code = to_int(detail.integer("code"));
        }
    }
    fields.take(detail);
    message.output.text = fields.text("stream");
    if (fields.find("status") != nullptr) {
        message.output.pull = pull_progress(fields);
    }
    if (const auto* aux = fields.find("aux"); aux != nullptr && aux->is_string()) {
        message.trace = fields.text("id") == "moby.buildkit.trace" ? fields.text("aux") : "";
    } else if (aux != nullptr && aux->is_object()) {
        auto result = fields.object("aux");
        message.image_id = result.text("ID");
        fields.take(result);
    }
    return checked(std::move(message), fields);
}

std::string decode_error_message(std::string_view body) {
    constexpr std::size_t longest = 1000;
    std::string message;
    if (const auto value = parse_json(body, ""); value && value->is_object()) {
        JsonFields fields(*value, "");
        message = fields.text("message");
        if (message.empty()) {
            message = fields.text("cause"); // Podman
        }
    }
    if (message.empty()) {
        message = std::string(body.substr(0, body.find_first_of("\r\n")));
    }
    while (!message.empty() && (message.back() == '\n' || message.back() == ' ' || message.back() == '.')) {
        message.pop_back();
    }
    message.resize(std::min(message.size(), longest));
    return printable(message);
}

} // namespace dockdist
