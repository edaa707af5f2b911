// The names of hosts that the file gives none: each is called after its machine, so that it keeps its name
// whatever becomes of the lines beside it.
#include "client/spec/names.hpp"
#include "client/spec/sections.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/core/loopback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace dockdist {
namespace {

// "unix:///run/podman/podman.sock" is an engine of this machine beside "unix:///var/run/docker.sock".
std::string of_socket(std::string_view path) {
    auto stem = path.substr(path.rfind('/') + 1);
    stem = stem.substr(0, stem.find('.'));
    return stem.empty() || stem == "docker" ? "node-local" : "node-" + to_cluster_name(stem);
}

std::string machine_name(const HostSpec& host) {
    const auto& docker = host.docker;
    if (!host.context.empty()) {
        return to_host_name(host.context);
    }
    const auto& name = docker.host;
    if (!name.empty() &&
        (!is_loopback(name) || (is_ip_address(name) && name != "127.0.0.1" && name != "::1"))) {
        return to_host_name(name);
    }
    // Of a port here that leads to an engine elsewhere there is nothing but the port.
    return docker.port.number == 0 ? of_socket(docker.path) : fmt::format("node-{}", docker.port.number);
}

std::vector<std::string> names_with_nodes(HostSpec host, const std::string& name) {
    host.name = HostName(name);
    std::vector<std::string> names{name};
    for (int i = 0; i < host.nodes; ++i) {
        names.push_back(node_name(host, i).str());
    }
    return names;
}

} // namespace

void name_hosts(ClusterDraft& draft) {
    std::set<std::string> taken;
    std::vector<HostSpec*> unnamed;
    for (auto& host : draft.hosts) {
        if (host.spec.position_name.empty()) {
            const auto names = names_with_nodes(host.spec, host.spec.name.str());
            taken.insert(names.begin(), names.end());
        } else if (host.docker_is_read || !host.spec.context.empty()) {
            unnamed.push_back(&host.spec);
        }
    }
    // Of several engines on one machine the order of the lines does not say which has which name.
    std::ranges::sort(unnamed, {}, [](const HostSpec* host) {
        return std::tuple(std::string_view(host->docker.url), std::string_view(host->context), host);
    });
    std::map<std::string, int> numbers;
    for (auto* host : unnamed) {
        const auto machine = machine_name(*host);
        auto& number = numbers[machine];
        std::vector<std::string> names;
        do {
            ++number;
            names = names_with_nodes(*host, number == 1 ? machine : fmt::format("{}-{}", machine, number));
        } while (std::ranges::any_of(names, [&](const auto& name) { return taken.contains(name); }));
        host->name = HostName(names.front());
        taken.insert(names.begin(), names.end());
    }
    for (const auto& host : draft.hosts) {
        const auto settle = [&](std::string& said) {
            if (said == host.spec.position_name && !said.empty() && !taken.contains(said)) {
                said = host.spec.name.str();
            }
        };
        settle(draft.spec.image.from);
        std::ranges::for_each(draft.spec.data, settle, &DataSpec::host);
    }
}

} // namespace dockdist
