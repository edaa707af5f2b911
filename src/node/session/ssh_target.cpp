#include "node/session/ssh_target.hpp"

#include "node/system/network.hpp"
#include "node/system/on_record.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/resolver.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/core/loopback.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <iterator>

namespace dockdist::node {
namespace {

constexpr std::string_view ssh_valued_options = "BbcDEeFIiJLlmOoPpQRSWw"; // of OpenSSH's ssh
constexpr int ssh_limit_ms = 5000; // a `Match exec` of the user's configuration may hang

std::optional<int> read_port(std::string_view text) {
    const auto port = whole_number<int>(text);
    return port && *port > 0 && *port < 65536 ? port : std::nullopt;
}

void read_destination(std::string_view text, SshLine& line) {
    const bool is_url = text.starts_with("ssh://");
    if (is_url) {
        text.remove_prefix(6);
        text = text.substr(0, text.find('/'));
    }
    if (const auto at = text.rfind('@'); at != std::string_view::npos) {
        line.user = text.substr(0, at);
        text.remove_prefix(at + 1);
    }
    line.host = is_url ? text.substr(0, text.rfind(':')) : text;
}

std::vector<std::string> by_hosts_file_or_getent(const std::string& name) {
    if (auto found = resolve_in_hosts(read_file_or_empty(paths().hosts), name); !found.empty()) {
        return {std::move(found)};
    }
    auto environment = Environment::own();
    const auto getent = find_own_program("getent", environment);
    return getent.path.empty() ? std::vector<std::string>{} : resolve_by_getent(getent, name, environment);
}

// What ssh itself makes of the command line; by `config`, where it is not empty.
std::optional<HostAndPort> goal_of(const std::vector<std::string>& arguments, const std::string& config) {
    std::vector<std::string> argv{"ssh", "-G"};
    if (!config.empty()) {
        argv.insert(argv.end(), {"-F", config});
    }
    std::ranges::copy(arguments, std::back_inserter(argv));
    auto environment = Environment::own();
    remove_loader_variables(environment);
    const auto look = run_helper({.program = {.path = paths().ssh}, .argv = argv, .environment = environment},
                                 ssh_limit_ms);
    return look.code == 0 ? read_ssh_goal(look.output) : std::nullopt;
}

// By name; by an address and the port that goes with it, on the command line or in our configuration; by
// whatever the user's own configuration leads there.
std::string find_node(const std::vector<std::string>& arguments, const SshLine& line) {
    const auto members = wire::parse_members(read_file_or_empty(paths().members));
    if (!members) {
        return {};
    }
    const auto& nodes = members->nodes;
    const auto known =
        line.own_config ? nodes.end() : std::ranges::find_if(nodes, [&](const wire::NodeRecord& node) {
            return line.host == node.node || line.host == node.address;
        });
    if (known != nodes.end() && line.host == known->node) {
        return known->node;
    }
    const auto goal = goal_of(arguments, known == nodes.end() ? "" : paths().ssh_config);
    auto node = goal ? node_at(*members, *goal, by_hosts_file_or_getent) : "";
    if (goal && node.empty() && !line.own_config) {
        node = node_of_machine(*members, *goal, recorded_environment().get("DOCKDIST_NODE").value_or(""));
    }
    return node;
}

} // namespace

std::optional<SshLine> read_ssh_line(const std::vector<std::string>& arguments) {
    SshLine line;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto& word = arguments[i];
        if (word == "--" || !word.starts_with('-') || word.size() < 2) {
            line.place = i;
            line.destination = word == "--" ? i + 1 : i;
            if (line.destination == arguments.size()) {
                return std::nullopt;
            }
            read_destination(arguments[line.destination], line);
            return line.host.empty() ? std::nullopt : std::optional(line);
        }
        for (std::size_t k = 1; k < word.size(); ++k) {
            line.own_config = line.own_config || word[k] == 'F';
            if (ssh_valued_options.find(word[k]) != std::string_view::npos) {
                i += k + 1 == word.size() ? 1 : 0;
                break;
            }
        }
    }
    return std::nullopt;
}

std::optional<HostAndPort> read_host_and_port(std::string_view text) {
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return std::nullopt;
    }
    auto host = text.substr(0, colon);
    const auto port = read_port(text.substr(colon + 1));
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return std::nullopt; // an IPv6 address alone
    }
    return port && !host.empty() ? std::optional(HostAndPort{std::string(host), *port}) : std::nullopt;
}

std::optional<HostAndPort> read_ssh_goal(std::string_view printed) {
    HostAndPort goal;
    for (const auto& line : split(printed, '\n')) {
        const auto space = std::min(line.find(' '), line.size());
        const auto key = std::string_view(line).substr(0, space);
        const auto value = std::string_view(line).substr(std::min(space + 1, line.size()));
        if (key == "hostname") {
            goal.host = value;
        } else if (key == "port") {
            goal.port = read_port(value).value_or(0);
        } else if ((key == "proxyjump" || key == "proxycommand") && value != "none") {
            return std::nullopt;
        }
    }
    if (const auto both = read_host_and_port(goal.host)) {
        return both;
    }
    return goal.host.empty() ? std::nullopt : std::optional(goal);
}

std::string node_at(const wire::Members& members, const HostAndPort& goal,
                    const std::function<std::vector<std::string>(const std::string& name)>& addresses_of) {
    const auto listening_on = [&](const std::string& host) {
        const auto found = std::ranges::find_if(members.nodes, [&](const wire::NodeRecord& node) {
            return node.ssh_port == goal.port && (node.address == host || node.node == host);
        });
        return found == members.nodes.end() ? "" : found->node;
    };
    const bool some_port =
        std::ranges::find(members.nodes, goal.port, &wire::NodeRecord::ssh_port) != members.nodes.end();
    auto node = listening_on(goal.host);
    if (!node.empty() || !some_port || is_ip_address(goal.host)) {
        return node;
    }
    for (const auto& address : addresses_of(goal.host)) {
        if (node = listening_on(address); !node.empty()) {
            break;
        }
    }
    return node;
}

std::string node_of_machine(const wire::Members& members, const HostAndPort& goal, const std::string& own) {
    if (goal.port != HostAndPort{}.port) {
        return {};
    }
    if (is_loopback(goal.host)) {
        return own;
    }
    std::vector<std::string> found;
    for (const auto& node : members.nodes) {
        const auto& name = node.hostname;
        if (!name.empty() &&
            (goal.host == name || goal.host.starts_with(name + ".") || name.starts_with(goal.host + "."))) {
            found.push_back(node.node);
        }
    }
    return found.size() == 1 ? found.front() : "";
}

std::vector<std::string> to_node(const std::vector<std::string>& arguments, const SshLine& line,
                                 const std::string& node, const std::string& config) {
    auto words = arguments;
    words[line.destination] = line.user.empty() ? node : line.user + "@" + node;
    // The last -F counts.
    const std::vector<std::string> option{"-F", config};
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(line.place), option.begin(), option.end());
    return words;
}

std::vector<std::string> ssh_line_of_copy_id(const std::vector<std::string>& arguments) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
        const auto& word = arguments[i];
        if (word == "-p" || word == "-o" || word == "-F") {
            words.insert(words.end(), {word, arguments[++i]});
        } else if (word.starts_with("-p") || word.starts_with("-o") || word.starts_with("-F")) {
            words.push_back(word);
        }
    }
    if (arguments.empty() || arguments.back().starts_with('-')) {
        return {};
    }
    words.push_back(arguments.back());
    return words;
}

std::string node_of_ssh(const std::vector<std::string>& arguments) {
    const auto line = read_ssh_line(arguments);
    return line ? find_node(arguments, *line) : "";
}

std::vector<std::string> ssh_arguments(const std::vector<std::string>& arguments) {
    const auto line = read_ssh_line(arguments);
    const auto node = line ? find_node(arguments, *line) : "";
    return node.empty() ? arguments : to_node(arguments, *line, node, paths().ssh_config);
}

} // namespace dockdist::node
