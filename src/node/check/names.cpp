#include "node/check/names.hpp"

#include "node/check/peers.hpp"
#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/resolver.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <map>
#include <unistd.h>

// Lines as `getent ahosts` prints them, for every name, each after its own "= NAME".
namespace dockdist {
extern const char* const resolve_names_py;
}

namespace dockdist::node {
namespace {

constexpr int python_limit_ms = 10000; // for all names: a resolver may ask a DNS server that is not there

using NameAddresses = std::map<std::string, std::vector<std::string>>;

NameAddresses by_getent(const Program& getent, const std::vector<std::string>& names,
                        const Environment& environment) {
    NameAddresses addresses;
    for (const auto& name : names) {
        addresses[name] = resolve_by_getent(getent, name, environment);
    }
    return addresses;
}

NameAddresses by_python(const Program& python, const std::vector<std::string>& names,
                        const Environment& environment) {
    std::vector<std::string> argv{python.name, "-c", resolve_names_py};
    argv.insert(argv.end(), names.begin(), names.end());
    const auto done =
        run_helper({.program = python, .argv = argv, .environment = environment}, python_limit_ms);
    NameAddresses addresses;
    for (const auto& name : names) {
        addresses[name] = {};
    }
    std::string name;
    for (const auto& line : split(done.output, '\n')) {
        if (line.starts_with("= ")) {
            name = line.substr(2);
        } else if (!line.empty() && addresses.contains(name)) {
            addresses[name].push_back(line);
        }
    }
    return addresses;
}

NameAddresses by_hosts_file(const std::vector<std::string>& names) {
    const auto hosts = read_file_or_empty(paths().hosts);
    NameAddresses addresses;
    for (const auto& name : names) {
        addresses[name] = {};
        if (const auto found = resolve_in_hosts(hosts, name); !found.empty()) {
            addresses[name].push_back(found);
        }
    }
    return addresses;
}

} // namespace

wire::NameFacts resolve_names(const std::vector<std::string>& peers, const Environment& environment) {
    char hostname[256] = "";
    ::gethostname(hostname, sizeof hostname - 1);
    std::vector<std::string> names{own_node_name()};
    names.insert(names.end(), peers.begin(), peers.end());
    if (std::ranges::find(names, hostname) == names.end() && hostname[0] != '\0') {
        names.emplace_back(hostname);
    }
    const auto with = [&](const char* by, NameAddresses addresses) {
        return wire::NameFacts{.by = by, .hostname = hostname, .addresses = std::move(addresses)};
    };
    if (const auto getent = find_program("getent", environment); !getent.path.empty()) {
        return with("getent", by_getent(getent, names, environment));
    }
    if (const auto python = find_program("python", environment); !python.path.empty()) {
        return with("python", by_python(python, names, environment));
    }
    return with("hosts", by_hosts_file(names));
}

} // namespace dockdist::node
