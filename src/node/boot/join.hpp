// The node's side of the key exchange.
#pragma once

#include <string>

namespace dockdist::node {

// PID 1's word for a join that has its own stdin and stdout: `dockdist-init join --first JSON`.
inline constexpr const char* first_join = "--first";

// `dockdist-init join JSON` (shared/wire/join.hpp), with the client at `in` and `out`. Returns the exit
// status. `in_log`: what it says goes to the container's log, where PID 1 says itself that the node is ready.
int run_join(const std::string& request, int in, int out, bool in_log);

} // namespace dockdist::node
