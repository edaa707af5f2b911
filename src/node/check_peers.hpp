// The way from this node to each of the others: a real login by ssh, as any launcher's.
#pragma once

namespace dockdist::node {

// Prints a JSON line a peer, in the order in which they answer: {"peer":"node-1","ok":true,"ms":84} or
// {"peer":"node-2","ok":false,"ms":10003,"message":"…"}. 0: all let us in; 1: one did not; 2: this node has
// not joined.
int run_check_peers();

} // namespace dockdist::node
