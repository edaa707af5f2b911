// A person's own ssh into the node: `dockdist proxy` runs an sshd here for one connection, which comes over
// the engine and not over the network, and lets in one key, which came with it. The node's own sshd knows
// nothing of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// `dockdist-init login KEY`: becomes an `sshd -i` on stdin and stdout that lets the user of jobs and sessions
// in with KEY ("ssh-ed25519 AAAA…") and with nothing else. What ssh forwards (-L, -R, -D, the agent) it
// forwards; what -R brings back listens on the host's loopback, or on a socket of the user's own in the node.
// Nothing else is written: the key is in this process's arguments, the configuration in sshd's. Returns only
// when it cannot.
int run_login(const std::string& key);

// `dockdist-init login-key TYPE KEY`: that sshd asks it for the keys it may let in.
int print_login_key(const std::string& key);

// Pure: that sshd and its arguments.
std::vector<std::string> login_sshd(std::string_view key, std::string_view user);

} // namespace dockdist::node
