// The user's own ssh to the nodes, for the commands that have to do with it.
#pragma once

#include "cli/context.hpp"
#include "own_ssh/login_files.hpp"

#include <string>
#include <vector>

namespace dockdist {

LoginFiles login_files(const ClusterSpec& spec);

SshNode ssh_node(const ReadyNode& node);

// The key pair, made where there is none, the nodes' host keys, and the text of their entries, named
// PREFIX.NODE.
Result<std::string> prepare_entries(const ClusterSpec& spec, const LoginFiles& files,
                                    const std::vector<ReadyNode>& nodes, const std::string& prefix);

// After `up`: entries that are installed are those of the nodes as they are now. What goes wrong is a
// warning.
void renew_installed_entries(const Context& context, const ClusterSpec& spec,
                             const std::vector<ReadyNode>& nodes);

// After `down`: nothing of it is left on this machine, and it is said where there was something.
void remove_login(const Context& context, const ClusterSpec& spec);

} // namespace dockdist
