// pdsh's targets. It knows no ports: of `host1:2222` it takes "host1" for a way to connect.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

// What to say, in one line, where targets of the command line (-w, -x, a file behind ^) or of `wcoll`, the
// file of the variable WCOLL, have ports; nothing else is wrong with them. `node_at` tells which node that
// target is; empty: none.
std::optional<std::string>
complaint_about_ports(const std::vector<std::string>& arguments, const std::string& wcoll,
                      const std::function<std::string(const std::string& host, int port)>& node_at);

// Pure: the words behind -w and -x, at their commas; `^FILE` as it stands.
std::vector<std::string> pdsh_targets(const std::vector<std::string>& arguments);

} // namespace dockdist::node
