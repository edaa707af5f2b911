// Which way the kernel sends what goes to another machine.
#pragma once

#include "node/system/os.hpp"

#include <string>

namespace dockdist::node {

// Asks the kernel's routing tables by rtnetlink(7), which needs no right; nothing is sent on the network.
class Routes {
public:
    Routes();
    // The interface through which a packet from `from` to `to`, both numeric and of one family, would leave;
    // empty where the kernel does not say.
    std::string interface_to(const std::string& from, const std::string& to);

private:
    Fd kernel_;
};

} // namespace dockdist::node
