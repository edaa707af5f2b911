#include "client/cli/proxies.hpp"

#include "client/image/registry_auth.hpp"
#include "client/plan/plan.hpp"
#include "shared/core/ascii.hpp"
#include "shared/core/proxies.hpp"

#include <algorithm>

namespace dockdist {
namespace {

bool sets(const ClusterSpec& spec, const std::string& name) {
    const auto is_it = [&](const auto& variable) { return to_lower(variable) == to_lower(name); };
    const auto& container = spec.container;
    return std::ranges::any_of(container.env, is_it, [](const auto& each) { return each.first; }) ||
           std::ranges::any_of(container.secrets, is_it, &SecretSpec::name) ||
           std::ranges::any_of(spec.hosts, [&](const HostSpec& host) {
               return std::ranges::any_of(host.env, is_it, [](const auto& each) { return each.first; });
           });
}

} // namespace

std::map<std::string, std::string> own_proxies(const Context& context, const ClusterSpec& spec) {
    const auto config = read_docker_config({.environment = client_environment});
    if (config.proxies.empty() || spec.hosts.empty()) {
        return {};
    }
    auto proxies = proxies_for(config, spec.hosts.front().docker.url);
    const auto other = std::ranges::find_if(
        spec.hosts, [&](const HostSpec& host) { return proxies_for(config, host.docker.url) != proxies; });
    if (other != spec.hosts.end()) {
        context.warn({{ErrorKind::config, host_label(*other),
                       "docker's config.json has other proxies for this host than for " +
                           host_label(spec.hosts.front()) + ", and these are what jobs get",
                       "set them in the file, by `container.env` or this host's `env`"}});
    }
    if (!proxies.empty()) {
        for (const auto& name : {std::string(no_proxy_variable), in_capitals(no_proxy_variable)}) {
            proxies[name] = with_names(proxies[name], spec.network.subnets);
        }
    }
    std::erase_if(proxies, [&](const auto& each) { return each.second.empty() || sets(spec, each.first); });
    return proxies;
}

} // namespace dockdist
