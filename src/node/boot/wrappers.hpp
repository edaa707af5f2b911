// The toolkit's programs under their own names, in /opt/dockdist/bin.
#pragma once

#include "node/system/environment.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

// `ssh`, `scp`, `sftp` and `ssh-keygen`: OpenSSH's. ssh reads the cluster's configuration when its
// destination is a node of the cluster (ssh_target.hpp), and the user's own otherwise. `ssh-copy-id`: says of
// nodes that they need none; the image's own for others. `pdsh`: the real one, over that ssh.
// `pkill` and `hostname`: the image's own, but see pkill.hpp and host_name.hpp. `rsync` and `scontrol`: the
// image's own where it has one, else the toolkit's, which for scontrol knows the job and its nodes only.
bool is_wrapper(const std::string& name);
int run_wrapper(const std::string& name, const std::vector<std::string>& arguments);

// The program of that name in PATH that is not the toolkit's; empty when there is none.
std::string image_program(const std::string& name, const Environment& environment);

} // namespace dockdist::node
