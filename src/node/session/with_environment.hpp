// The client's exec into a node: what a session sees, for a command or the user's shell.
#pragma once

#include <string>
#include <vector>

namespace dockdist::node {

// `dockdist-init with-environment [--user U] [--workdir W] [--env K=V]… [--gpus ASK [--owner WHO]]
// [--session ASK] [--line TEXT] [--] [CMD…]`. Without CMD the user's shell, with TEXT as its command line.
//
// --gpus: a number or a wire::GpuAsk as JSON: so many of the node's units are the command's own until it
// ends, and CUDA_VISIBLE_DEVICES shows it these; what it leaves behind in the background keeps none. It waits
// in line for them and says on stderr for whom. Without it a shell at a terminal is told who has GPUs here.
// --session: a wire::SessionAsk: stdin is frames, and the end of the client ends the command.
int run_with_environment(const std::vector<std::string>& arguments);

} // namespace dockdist::node
