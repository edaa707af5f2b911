// The user's own ssh to the nodes, for the commands that have to do with it.
#pragma once

#include "client/cli/context.hpp"
#include "client/own_ssh/login_files.hpp"

#include <string>
#include <vector>

namespace dockdist {

// Where XDG_STATE_HOME says.
LoginFiles login_files(const ClusterSpec& spec);

SshNode ssh_node(const ReadyNode& node);

struct PreparedEntries {
    std::string text{}; // empty: there are none
    Errors errors{};    // why, or of the nodes that have none
};
// The key pair, made where there is none, the nodes' host keys, and the text of their entries, named
// PREFIX.NODE.
PreparedEntries prepare_entries(const ClusterSpec& spec, const LoginFiles& files,
                                const std::vector<ReadyNode>& nodes, const std::string& prefix);

// The variables of this environment without which `proxy` would not read the file, or would go elsewhere, and
// that no entry carries: they may be secrets.
std::vector<std::string> needed_variables(const ClusterSpec& spec);

// After `up`: entries that are installed are those of the nodes as they are now. What goes wrong is a
// warning.
void renew_installed_entries(const Context& context, const ClusterSpec& spec,
                             const std::vector<ReadyNode>& nodes);

// Removes it from this machine, and what is left of files that are no more, of which it says so.
LoginRemoval remove_of_login(const Context& context, const ClusterSpec& spec, LoginFiles::Entries entries);
// After `down`, which leaves installed entries to the next `up`: it is said where there was something, and
// what goes wrong is a warning.
void remove_login(const Context& context, const ClusterSpec& spec);

} // namespace dockdist
