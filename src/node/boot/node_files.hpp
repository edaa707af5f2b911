// The texts that a joined node keeps under /run/dockdist. Pure.
#pragma once

#include "node/system/accounts.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/join.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// Refuses members that would inject a line or an option into any of the files: names, addresses, keys, ports,
// users.
Status check_members(const wire::Members& members);

std::string authorized_keys(const wire::Members& members);
std::string known_hosts(const wire::Members& members);
std::string ssh_config(const wire::NodeRecord& self, const wire::Members& members);
// sshd runs before the members are known: `nodes` is how many there will be, `nodes_beside` the most of them
// that share a host.
std::string sshd_config(const wire::NodeRecord& self, int nodes, int nodes_beside);
std::string hostfile(const wire::Members& members);       // NAME slots=N: DeepSpeed, Open MPI
std::string hydra_hostfile(const wire::Members& members); // NAME:N: MPICH
std::string wcoll(const wire::Members& members);          // NAME: pdsh

// `hosts` with one marked block in front that resolves every node's name (and hostname, where it is unique)
// to its address, and with this machine's own names taken from the 127.x and ::1 lines. A block of an earlier
// join is replaced.
std::string mend_hosts(std::string_view hosts, const wire::NodeRecord& self, const wire::Members& members);

// The narrowest IPv4 network, in CIDR form, that holds every member's address; nothing when it would be wider
// than /16.
std::optional<std::string> common_subnet(const wire::Members& members);

// For /etc/profile.d: login shells reset PATH in /etc/profile.
std::string profile_script(std::string_view path);

// What launchers have to know about this node, for the environment of sessions and jobs. They are defaults:
// whatever the container's own environment sets stays.
std::map<std::string, std::string> node_variables(const wire::NodeRecord& self, const wire::Members& members);

} // namespace dockdist::node
