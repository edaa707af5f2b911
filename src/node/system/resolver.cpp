#include "node/system/resolver.hpp"

#include "shared/core/text.hpp"

#include <algorithm>
#include <utility>

namespace dockdist::node {
namespace {

constexpr int getent_limit_ms = 5000; // the DNS server may not be there

} // namespace

Helper ask_getent(Program getent, const std::string& name, Environment environment) {
    return {.program = std::move(getent),
            .argv = {"getent", "ahosts", name},
            .environment = std::move(environment)};
}

std::vector<std::string> resolve_by_getent(Program getent, const std::string& name, Environment environment) {
    const auto done =
        run_helper(ask_getent(std::move(getent), name, std::move(environment)), getent_limit_ms);
    return done.code == 0 ? parse_ahosts(done.output) : std::vector<std::string>{};
}

std::vector<std::string> parse_ahosts(std::string_view output) {
    std::vector<std::string> addresses;
    for (const auto& line : split(output, '\n')) {
        const auto address = line.substr(0, line.find_first_of(" \t"));
        if (!address.empty() && std::ranges::find(addresses, address) == addresses.end()) {
            addresses.push_back(address);
        }
    }
    return addresses;
}

} // namespace dockdist::node
