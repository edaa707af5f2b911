// Where an ssh command line goes: a node of the cluster, whatever the user's own ~/.ssh/config calls it, or
// somewhere else.
#pragma once

#include "shared/wire/join.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// The arguments with which the toolkit's ssh does what was asked for. To a node they bring the cluster's
// configuration and the node's own name, which known_hosts knows; user, command and options stay. Anything
// else goes by the user's own configuration.
std::vector<std::string> ssh_arguments(const std::vector<std::string>& arguments);

// The node that the command line goes to; empty: none of this cluster.
std::string node_of_ssh(const std::vector<std::string>& arguments);

// Pure parts.

struct SshLine {
    std::size_t place = 0;       // where one more option may stand: at `--`, or at the destination
    std::size_t destination = 0; // its place in the arguments
    std::string user{};          // of the destination; empty: it names none
    std::string host{};          // without user; of ssh://…, without port too
    bool own_config = false;     // it brings its own -F
};
// Nothing where it goes nowhere (`-V`).
std::optional<SshLine> read_ssh_line(const std::vector<std::string>& arguments);

// "host:2222" as people write it in hostfiles, which no ssh takes; nothing where there is no such port.
struct HostAndPort {
    std::string host{};
    int port = 22;
};
std::optional<HostAndPort> read_host_and_port(std::string_view text);

// Where ssh would connect to, of what `ssh -G` prints. Nothing where it would go through another host.
std::optional<HostAndPort> read_ssh_goal(std::string_view printed);

// The node whose sshd listens there; empty: none. `addresses_of` is asked only where a node has that port
// and the host is no node's name or address.
std::string node_at(const wire::Members& members, const HostAndPort& goal,
                    const std::function<std::vector<std::string>(const std::string& name)>& addresses_of);

// The node that a name without a port means in a launcher's list: `localhost` this one (`own`), a machine's
// own name the one node there. Empty: none; it has a port, or several nodes have that name. An address alone
// is the machine's, whose sshd it reaches.
std::string node_of_machine(const wire::Members& members, const HostAndPort& goal, const std::string& own);

// The same command line to that node, by `config`.
std::vector<std::string> to_node(const std::vector<std::string>& arguments, const SshLine& line,
                                 const std::string& node, const std::string& config);

// The destination of `ssh-copy-id`, and what it says of the way there, as arguments of ssh; empty: it names
// none.
std::vector<std::string> ssh_line_of_copy_id(const std::vector<std::string>& arguments);

} // namespace dockdist::node
