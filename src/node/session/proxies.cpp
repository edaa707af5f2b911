#include "node/session/proxies.hpp"

#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/proxies.hpp"
#include "shared/core/text.hpp"

#include <algorithm>

namespace dockdist::node {
namespace {

constexpr std::size_t most_bytes = 32U << 10U; // of the 128 KiB that a variable may have

bool is_set(const Environment& environment, std::string_view name) {
    return !environment.get(name).value_or("").empty() ||
           !environment.get(in_capitals(name)).value_or("").empty();
}

} // namespace

std::vector<std::string> peers_of(const wire::Members& members) {
    std::vector<std::string> peers;
    std::size_t bytes = 0;
    for (const auto& member : members.nodes) {
        for (const auto& name : {member.node, member.address}) {
            bytes += name.size() + 1;
            if (bytes <= most_bytes) {
                peers.push_back(name);
            }
        }
    }
    return peers;
}

std::vector<std::string> known_peers() {
    const auto members = wire::parse_members(read_file_or_empty(paths().members));
    return members ? peers_of(*members) : std::vector<std::string>();
}

void spare_peers(Environment& environment, const std::function<std::vector<std::string>()>& peers) {
    if (std::ranges::none_of(proxy_variables, [&](auto name) { return is_set(environment, name); })) {
        return;
    }
    const auto capitals = in_capitals(no_proxy_variable);
    auto list = with_names(environment.get(no_proxy_variable).value_or(""),
                           split(environment.get(capitals).value_or(""), ','));
    list = with_names(with_names(list, {own_machine.begin(), own_machine.end()}), peers());
    environment.set(no_proxy_variable, list);
    environment.set(capitals, list);
}

void take_proxies(Environment& environment, const Environment& from) {
    for (const auto name : proxy_variables) {
        if (is_set(environment, name)) {
            continue;
        }
        for (const auto& written : {std::string(name), in_capitals(name)}) {
            if (const auto value = from.get(written)) {
                environment.set(written, *value);
            }
        }
    }
    for (const auto& written : {std::string(no_proxy_variable), in_capitals(no_proxy_variable)}) {
        if (const auto value = from.get(written)) { // the container has its peers' names there already
            environment.set(written, with_names(*value, split(environment.get(written).value_or(""), ',')));
        }
    }
}

} // namespace dockdist::node
