// The engine itself, and its volumes.
#include "scale/stub_engines/exchange.hpp"
#include "shared/core/random.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <thread>

namespace dockdist::scale {
namespace {

using nlohmann::json;

json info_of(const Host& host) {
    utsname system{};
    ::uname(&system);
    struct sysinfo memory{};
    ::sysinfo(&memory);
    return {{"ID", "00000000-0000-0000-0000-000000000000"},
            {"Name", host.name},
            {"ServerVersion", "26.1.5"},
            {"OperatingSystem", "Debian GNU/Linux 13 (trixie)"},
            {"KernelVersion", system.release},
            {"Architecture", system.machine},
            {"OSType", "linux"},
            {"Labels", json::array()},
            {"Driver", "overlay2"},
            {"Runtimes", {{"runc", {{"path", "runc"}}}}},
            {"SystemTime", now_as_text()},
            {"DockerRootDir", "/var/lib/docker"},
            {"NCPU", std::thread::hardware_concurrency()},
            {"MemTotal", memory.totalram * memory.mem_unit},
            {"SecurityOptions", {"name=seccomp,profile=builtin"}},
            {"CDISpecDirs", json::array()},
            {"Plugins", {{"Authorization", nullptr}}}};
}

json volume_json(const Volume& volume) {
    return {{"CreatedAt", volume.created},
            {"Driver", "local"},
            {"Labels", volume.labels.empty() ? json() : json(volume.labels)},
            {"Mountpoint", volume.folder},
            {"Name", volume.name},
            {"Options", nullptr},
            {"Scope", "local"}};
}

bool in_use(const Host& host, const Volume& volume) {
    return std::ranges::any_of(host.containers, [&](const auto& entry) {
        return std::ranges::any_of(entry.second->mounts,
                                   [&](const SandboxMount& mount) { return mount.source == volume.folder; });
    });
}

Task<void> make_volume(Exchange x) {
    const auto wanted = co_await x.body();
    if (!wanted.is_object()) {
        co_return co_await x.fail(400, "invalid JSON");
    }
    auto name = wanted.value("Name", "");
    name = name.empty() ? random_hex(64) : name;
    const auto& volume =
        volume_of(x.world, x.host, name, wanted.value("Labels", std::map<std::string, std::string>()));
    co_await x.answer(201, volume_json(volume)); // of one that was there: as it is
}

Task<void> list_volumes(Exchange x) {
    const auto filters = json::parse(x.request.get("filters", "{}"), nullptr, false);
    auto rows = json::array();
    for (const auto& [name, volume] : x.host.volumes) {
        bool wanted = true;
        for (const auto& label : filters.value("label", std::vector<std::string>())) {
            const auto equals = label.find('=');
            const auto found = volume.labels.find(label.substr(0, equals));
            wanted = wanted && found != volume.labels.end() &&
                     (equals == std::string::npos || found->second == label.substr(equals + 1));
        }
        if (wanted) {
            rows.push_back(volume_json(volume));
        }
    }
    co_await x.answer(200, {{"Volumes", rows.empty() ? json() : rows}, {"Warnings", json()}});
}

Task<void> remove_volume(Exchange x) {
    const auto found = x.host.volumes.find(x.request.item);
    if (found == x.host.volumes.end()) {
        co_return co_await x.fail(404, "get " + x.request.item + ": no such volume");
    }
    if (in_use(x.host, found->second)) {
        co_return co_await x.fail(409, "remove " + x.request.item + ": volume is in use");
    }
    remove_folder(x.world, x.host, found->second.folder);
    x.host.volumes.erase(found);
    co_await x.answer(204);
}

// What tests ask of the stubs themselves, on any host's address.
Task<bool> handle_stub(Exchange x) {
    if (x.request.call == "GET /_stub/counters") {
        auto counted = x.world.counters.to_json();
        counted["node_connections"] = x.world.fabric.connections_begun();
        co_await x.answer(200, counted);
    } else if (x.request.call == "POST /_stub/reset") {
        x.world.counters.reset();
        co_await x.answer(204);
    } else if (x.request.call == "POST /_stub/share") { // the others have this host's volume ?name=, too
        (void)co_await x.connection->read_body(x.request);
        for (const auto& host : x.world.hosts) {
            host->volumes.insert_or_assign(x.request.get("name"), x.host.volumes.at(x.request.get("name")));
        }
        co_await x.answer(204);
    } else if (x.request.call == "POST /_stub/script") {
        const auto text = co_await x.body();
        std::string problem;
        try {
            x.world.follow_script(parse_script(text));
        } catch (const std::exception& error) {
            problem = error.what();
        }
        if (problem.empty()) {
            co_await x.answer(204);
        } else {
            co_await x.fail(400, problem);
        }
    } else {
        co_return false;
    }
    co_return true;
}

} // namespace

Task<json> Exchange::body() const {
    const auto text = co_await connection->read_body(request);
    auto value = json::parse(text, nullptr, false);
    co_return value.is_discarded() ? json() : value;
}

Volume& volume_of(World& world, Host& host, const std::string& name,
                  const std::map<std::string, std::string>& labels) {
    const auto [found, is_new] = host.volumes.try_emplace(name);
    auto& volume = found->second;
    if (is_new) {
        volume = {.name = name,
                  .folder = world.setting.folder + "/hosts/" + std::to_string(host.number) + "/" + name,
                  .labels = labels,
                  .created = now_as_text()};
        std::filesystem::create_directories(volume.folder);
    }
    return volume;
}

void remove_folder(World& world, const Host& host, const std::string& folder) {
    if (folder.starts_with(world.setting.folder + "/hosts/" + std::to_string(host.number) + "/")) {
        std::error_code none;
        std::filesystem::remove_all(folder, none);
    }
}

Task<bool> handle_system(Exchange x) {
    const auto& call = x.request.call;
    if (call == "GET /_ping" || call == "HEAD /_ping") {
        (void)co_await x.connection->answer(200, call[0] == 'G' ? "OK" : "", "text/plain; charset=utf-8");
    } else if (call == "GET /info") {
        co_await x.answer(200, info_of(x.host));
    } else if (call == "GET /version") {
        co_await x.answer(
            200, {{"Version", "26.1.5"}, {"ApiVersion", "1.45"}, {"MinAPIVersion", "1.24"}, {"Os", "linux"}});
    } else if (call == "GET /volumes/X") {
        const auto found = x.host.volumes.find(x.request.item);
        if (found == x.host.volumes.end()) {
            co_await x.fail(404, "get " + x.request.item + ": no such volume");
        } else {
            co_await x.answer(200, volume_json(found->second));
        }
    } else if (call == "GET /volumes") {
        co_await list_volumes(x);
    } else if (call == "POST /volumes/create") {
        co_await make_volume(x);
    } else if (call == "DELETE /volumes/X") {
        co_await remove_volume(x);
    } else {
        co_return co_await handle_stub(x);
    }
    co_return true;
}

} // namespace dockdist::scale
