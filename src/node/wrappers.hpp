// The OpenSSH programs under their own names.
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

// `ssh`, `scp`, `sftp` and `ssh-keygen` of /opt/dockdist/bin: the toolkit's program of that name. ssh reads
// the cluster's configuration when its destination is a node of the cluster, and the user's own otherwise.
// Nothing for another name.
bool is_wrapper(const std::string& name);
int run_wrapper(const std::string& name, const std::vector<std::string>& arguments);

// Pure: the host that an ssh command line goes to, without user and port; empty when there is none or it
// brings its own -F.
std::string ssh_destination(const std::vector<std::string>& arguments);

} // namespace dockdist::node
