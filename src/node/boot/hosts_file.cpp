// /etc/hosts of the node. With host networking the engine copies the host's file, `127.0.1.1 hostname`
// included, and what resolves its own name to loopback (gloo, c10d) then waits for peers that never come.
#include "node/boot/node_files.hpp"
#include "shared/core/loopback.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace dockdist::node {
namespace {

constexpr std::string_view begin_mark = "# dockdist: the cluster's nodes";
constexpr std::string_view end_mark = "# dockdist: end";

bool is_local_name(std::string_view name) {
    return name == "localhost" || name.starts_with("localhost.") || name == "ip6-localhost" ||
           name == "ip6-loopback";
}

// Names that this machine has for itself: `node-0`, and its hostname with any domain.
bool is_own_name(std::string_view name, const wire::NodeRecord& self) {
    return !is_local_name(name) &&
           (name == self.node ||
            (!self.hostname.empty() && (name == self.hostname || name.starts_with(self.hostname + "."))));
}

} // namespace

std::string mend_hosts(std::string_view hosts, const wire::NodeRecord& self, const wire::Members& members) {
    std::set<std::string> node_names;
    std::map<std::string, std::set<std::string>> addresses_of_hostname;
    for (const auto& node : members.nodes) {
        node_names.insert(node.node);
        if (is_plain_name(node.hostname) && !is_local_name(node.hostname)) {
            addresses_of_hostname[node.hostname].insert(node.address);
        }
    }

    std::string rest;
    std::set<std::string> own_aliases; // "host.example.org", which stood beside the hostname
    bool in_block = false;
    auto lines = split(hosts, '\n');
    if (lines.back().empty()) {
        lines.pop_back();
    }
    for (const auto& line : lines) {
        if (line == begin_mark) {
            in_block = true;
        }
        if (in_block) {
            // What an earlier join took from a loopback line is still this node's.
            const auto words = split_blanks(line);
            if (words.size() > 2 && words[1] == self.node) {
                own_aliases.insert(words.begin() + 2, words.end());
            }
        } else {
            auto words = split_blanks(std::string_view(line).substr(0, line.find('#')));
            const bool loopback = words.size() > 1 && is_loopback(words.front());
            // Debian's 127.0.1.1 is the line for the machine's own name, whatever that is.
            const bool own_line = loopback && words.front() == "127.0.1.1";
            const auto is_own = [&](std::string_view name) {
                return is_own_name(name, self) || (own_line && !is_local_name(name));
            };
            const auto is_taken = [&](std::string_view name) {
                return is_own(name) || node_names.contains(std::string(name));
            };
            if (loopback && std::any_of(words.begin() + 1, words.end(), is_taken)) {
                for (std::size_t i = 1; i < words.size(); ++i) {
                    if (is_own(words[i]) && is_plain_name(words[i])) {
                        own_aliases.emplace(words[i]);
                    }
                }
                words.erase(std::remove_if(words.begin() + 1, words.end(), is_taken), words.end());
                if (words.size() > 1) {
                    for (std::size_t i = 0; i < words.size(); ++i) {
                        rest.append(i == 0 ? "" : i == 1 ? "\t" : " ").append(words[i]);
                    }
                    rest += "\n";
                }
            } else {
                rest += line + "\n";
            }
        }
        if (line == end_mark) {
            in_block = false;
        }
    }

    std::string block = std::string(begin_mark) + "\n";
    std::set<std::string> named;
    for (const auto& node : members.nodes) {
        std::vector<std::string> names{node.node};
        if (node.node == self.node) {
            own_aliases.insert(self.hostname); // in its place among them: the next join finds it there
            names.insert(names.end(), own_aliases.begin(), own_aliases.end());
        } else {
            names.push_back(node.hostname);
        }
        std::string line = node.address;
        for (const auto& name : names) {
            const bool other_nodes_name = name != node.node && node_names.contains(name);
            const auto shared = addresses_of_hostname.find(name);
            const bool ambiguous =
                node.node != self.node && shared != addresses_of_hostname.end() && shared->second.size() > 1;
            const bool own_hostname_of_other =
                node.node != self.node && name != node.node && is_own_name(name, self);
            if (is_plain_name(name) && !is_local_name(name) && !other_nodes_name && !ambiguous &&
                !own_hostname_of_other && named.insert(name).second) {
                line += (line == node.address ? "\t" : " ") + name;
            }
        }
        if (line != node.address) {
            block += line + "\n";
        }
    }
    return block + std::string(end_mark) + "\n" + rest;
}

} // namespace dockdist::node
