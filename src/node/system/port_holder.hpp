// Who listens on a TCP port. The network is the host's, the processes that are seen are this container's.
#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

namespace dockdist::node {

struct PortHolder {
    pid_t pid = 0; // 0: it is in another container, or on the host itself
    std::string program{};
    std::string job{};  // whose mark it bears
    std::string rank{}; // that it is of it, where it is one
};
std::optional<PortHolder> find_port_holder(int port); // empty: nobody listens

} // namespace dockdist::node
