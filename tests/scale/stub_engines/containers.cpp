// Containers, from their list to their end.
#include "scale/stub_engines/container_process.hpp"
#include "scale/stub_engines/exchange.hpp"
#include "shared/core/random.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace dockdist::scale {
namespace {

using nlohmann::json;
using ContainerPointer = std::shared_ptr<Container>;

std::int64_t unix_seconds() {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

bool has_labels(const Container& container, const std::vector<std::string>& wanted) {
    const auto labels = container.labels();
    return std::ranges::all_of(wanted, [&](const std::string& label) {
        const auto equals = label.find('=');
        const auto found = labels.find(label.substr(0, equals));
        return found != labels.end() &&
               (equals == std::string::npos || found->second == label.substr(equals + 1));
    });
}

Task<void> list_containers(Exchange x) {
    const auto filters = json::parse(x.request.get("filters", "{}"), nullptr, false);
    const auto wanted = filters.value("label", std::vector<std::string>());
    const bool all = x.request.get("all") == "1";
    auto rows = json::array();
    for (const auto& [id, container] : x.host.containers) {
        if ((all || container->running()) && has_labels(*container, wanted)) {
            rows.push_back({{"Id", id},
                            {"Names", {"/" + container->name}},
                            {"Image", container->config.value("Image", "")},
                            {"ImageID", container->image->id},
                            {"Command", ""},
                            {"Created", container->created_s},
                            {"Labels", container->labels()},
                            {"State", container->state},
                            {"Status", container->state}});
        }
    }
    co_await x.answer(200, rows);
}

json details_of_container(const Container& container) {
    const auto& wanted = container.config;
    json config = wanted;
    config.erase("HostConfig");
    config["Labels"] = container.labels();
    config.emplace("Cmd", nullptr);
    config.emplace("WorkingDir", "");
    config.emplace("Volumes", nullptr);
    auto host = wanted.value("HostConfig", json::object());
    host.emplace("DeviceRequests", nullptr);
    auto mounts = json::array();
    for (const auto& mount : host.value("Mounts", json::array())) {
        mounts.push_back({{"Type", mount.value("Type", "")}, {"Destination", mount.value("Target", "")}});
    }
    return {{"Id", container.id},
            {"Name", "/" + container.name},
            {"Created", container.created},
            {"Image", container.image->id},
            {"State",
             {{"Status", container.state},
              {"Running", container.running()},
              {"Paused", false},
              {"Restarting", false},
              {"OOMKilled", false},
              {"Dead", false},
              {"Pid", container.running() && container.process ? container.process->pid : 0},
              {"ExitCode", container.exit_code},
              {"Error", container.error},
              {"StartedAt", container.started},
              {"FinishedAt", container.finished}}},
            {"Path", ""},
            {"Driver", "overlay2"},
            {"Mounts", std::move(mounts)},
            {"Config", std::move(config)},
            {"HostConfig", std::move(host)}};
}

// Where the containers of an image find what it has at that place, a volume without a name begins with its
// owner.
void own_as_image_does(const Image& image, const std::string& target, const std::string& folder) {
    struct stat status{};
    if (!image.folder.empty() && ::stat((image.folder + target).c_str(), &status) == 0) {
        (void)!::chown(folder.c_str(), status.st_uid, status.st_gid);
        (void)::chmod(folder.c_str(), status.st_mode & 07777U);
    }
}

std::vector<SandboxMount> mounts_of(World& world, Host& host, const Image& image, const json& host_config) {
    std::vector<SandboxMount> mounts;
    for (const auto& mount : host_config.value("Mounts", json::array())) {
        const auto target = mount.value("Target", "");
        const bool read_only = mount.value("ReadOnly", false);
        if (mount.value("Type", "") == "bind") {
            mounts.push_back({.source = mount.value("Source", ""), .target = target, .read_only = read_only});
            continue;
        }
        const auto name = mount.value("Source", "");
        const auto labels = mount.value("VolumeOptions", json::object())
                                .value("Labels", std::map<std::string, std::string>());
        const auto& volume = volume_of(world, host, name.empty() ? random_hex(64) : name, labels);
        if (name.empty()) {
            own_as_image_does(image, target, volume.folder);
        }
        mounts.push_back({.source = volume.folder, .target = target, .read_only = read_only});
    }
    for (const auto& bind : host_config.value("Binds", std::vector<std::string>())) {
        const auto first = bind.find(':');
        const auto second = std::min(bind.find(':', first + 1), bind.size());
        std::filesystem::create_directories(bind.substr(0, first));
        mounts.push_back({.source = bind.substr(0, first),
                          .target = bind.substr(first + 1, second - first - 1),
                          .read_only = bind.substr(second) == ":ro"});
    }
    for (const auto& [target, options] : host_config.value("Tmpfs", std::map<std::string, std::string>())) {
        mounts.push_back({.target = target, .options = options});
    }
    return mounts;
}

// Of a bind: engines look when the container is made.
std::string missing_source(const json& config) {
    const auto host_config = config.value("HostConfig", json::object());
    for (const auto& mount : host_config.value("Mounts", json::array())) {
        const auto source = mount.value("Source", "");
        if (mount.value("Type", "") == "bind" && !std::filesystem::exists(source)) {
            return source;
        }
    }
    return {};
}

Task<void> create_container(Exchange x) {
    const auto config = co_await x.body();
    const auto name = x.request.get("name", "stub_" + random_hex(8));
    if (!config.is_object()) {
        co_return co_await x.fail(400, "invalid JSON");
    }
    const auto image = x.host.find_image(config.value("Image", ""));
    if (!image) {
        co_return co_await x.fail(404, "No such image: " + config.value("Image", ""));
    }
    for (const auto& [id, there] : x.host.containers) {
        if (there->name == name) {
            co_return co_await x.fail(
                409, "Conflict. The container name \"/" + name + "\" is already in use by container \"" + id +
                         "\". You have to remove (or rename) that container to be able to reuse that name.");
        }
    }
    if (const auto missing = missing_source(config); !missing.empty()) {
        co_return co_await x.fail(
            400, "invalid mount config for type \"bind\": bind source path does not exist: " + missing);
    }
    const auto container = std::make_shared<Container>(x.world.io.get_executor());
    container->id = random_hex(64);
    container->name = name;
    container->config = config;
    container->image = image;
    container->created = now_as_text();
    container->created_s = unix_seconds();
    container->mounts = mounts_of(x.world, x.host, *image, config.value("HostConfig", json::object()));
    x.host.containers[container->id] = container;
    co_await x.answer(201, {{"Id", container->id}, {"Warnings", json::array()}});
}

Task<void> start_container(Exchange x, ContainerPointer container) {
    if (container->running()) {
        co_return co_await x.answer(304);
    }
    std::string failure;
    try {
        failure = co_await start_process(x.world, x.host, container);
    } catch (const std::system_error& error) {
        failure = error.what();
    }
    if (!failure.empty()) {
        container->error = "failed to create task for container: failed to create shim task: OCI runtime "
                           "create failed: runc create failed: "
                           "unable to start container process: " +
                           failure + ": unknown";
        container->exit_code = 127;
        co_return co_await x.fail(500, container->error);
    }
    container->state = "running";
    container->started = now_as_text();
    boost::asio::co_spawn(x.world.io, wait_for_end(container), boost::asio::detached);
    container->changed.notify();
    co_await x.answer(204);
}

Task<void> stop_container(Exchange x, ContainerPointer container) {
    if (!container->running()) {
        co_return co_await x.answer(304);
    }
    ::kill(container->process->pid, SIGTERM);
    const auto grace = std::chrono::seconds(std::stoi(x.request.get("t", "10")));
    if (!co_await container->process->ended.wait_at_most(grace)) {
        ::kill(container->process->pid, SIGKILL);
        co_await container->process->ended.wait();
    }
    co_await x.answer(204);
}

void remove_nameless_volumes(Exchange& x, const Container& container) {
    for (const auto& mount :
         container.config.value("HostConfig", json::object()).value("Mounts", json::array())) {
        if (mount.value("Type", "") == "volume" && mount.value("Source", "").empty()) {
            for (const auto& there : container.mounts) {
                if (there.target == mount.value("Target", "")) {
                    remove_folder(x.world, x.host, there.source);
                    std::erase_if(x.host.volumes,
                                  [&](const auto& entry) { return entry.second.folder == there.source; });
                }
            }
        }
    }
}

Task<void> remove_container(Exchange x, ContainerPointer container) {
    if (std::exchange(container->removed, true)) {
        co_return co_await x.fail(409, "removal of container " + container->id + " is already in progress");
    }
    if (container->running()) {
        if (x.request.get("force") != "1") {
            container->removed = false;
            co_return co_await x.fail(
                409, "cannot remove container \"/" + container->name +
                         "\": container is running: stop the container before removing or force remove");
        }
        ::kill(container->process->pid, SIGKILL);
        co_await container->process->ended.wait();
    }
    x.host.containers.erase(container->id);
    std::erase_if(x.host.execs, [&](const auto& entry) { return entry.second->container == container; });
    if (x.request.get("v") == "1") {
        remove_nameless_volumes(x, *container);
    }
    container->state = "removed";
    container->changed.notify();
    co_await x.answer(204);
}

// As an engine sees a node: what dockdist-init has made there.
Task<void> tell_changes(Exchange x, ContainerPointer) {
    auto changes = nlohmann::json::array();
    changes.push_back({{"Path", "/run"}, {"Kind", 0}});
    changes.push_back({{"Path", "/run/dockdist"}, {"Kind", 1}});
    co_await x.answer(200, std::move(changes));
}

Task<void> tell_details(Exchange x, ContainerPointer container) {
    auto details = details_of_container(*container);
    if (x.request.get("size") == "1") {
        details["SizeRw"] = 0;
        details["SizeRootFs"] = 0;
    }
    co_await x.answer(200, std::move(details));
}

Task<void> rename_container(Exchange x, ContainerPointer container) {
    const auto name = x.request.get("name");
    const auto other = x.host.find(name);
    if (other && other->name == name) {
        co_return co_await x.fail(
            409, "Error when allocating new name: Conflict. The container name \"/" + name +
                     "\" is already in use by container \"" + other->id +
                     "\". You have to remove (or rename) that container to be able to reuse that name.");
    }
    container->name = name;
    co_await x.answer(204);
}

} // namespace

Task<bool> handle_containers(Exchange x) {
    const auto& call = x.request.call;
    if (call == "GET /containers/json") {
        co_await list_containers(x);
        co_return true;
    }
    if (call == "POST /containers/create") {
        co_await create_container(x);
        co_return true;
    }
    const std::map<std::string_view, Task<void> (*)(Exchange, ContainerPointer)> calls{
        {"POST /containers/X/start", start_container}, {"POST /containers/X/stop", stop_container},
        {"DELETE /containers/X", remove_container},    {"POST /containers/X/rename", rename_container},
        {"GET /containers/X/json", tell_details},      {"GET /containers/X/changes", tell_changes},
    };
    const auto found = calls.find(call);
    if (found == calls.end()) {
        co_return false;
    }
    const auto container = x.host.find(x.request.item);
    if (!container) {
        co_await x.fail(404, "No such container: " + x.request.item);
    } else {
        co_await found->second(x, container);
    }
    co_return true;
}

} // namespace dockdist::scale
