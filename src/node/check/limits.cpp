#include "node/check/limits.hpp"

#include "node/check/peers.hpp"
#include "node/system/os.hpp"
#include "shared/wire/layout.hpp"
#include "shared/wire/partial.hpp"

#include <sys/resource.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

std::int64_t soft_limit(decltype(RLIMIT_MEMLOCK) resource) {
    rlimit limit{};
    const bool unlimited = ::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY;
    return unlimited ? -1 : static_cast<std::int64_t>(limit.rlim_cur);
}

} // namespace

wire::SessionLimits own_limits() {
    return {.memlock = soft_limit(RLIMIT_MEMLOCK),
            .nofile = soft_limit(RLIMIT_NOFILE),
            .stack = soft_limit(RLIMIT_STACK),
            .nproc = soft_limit(RLIMIT_NPROC)};
}

Result<wire::SessionLimits> session_limits() {
    const auto login = log_in(own_node_name(), {layout::init, "limits"});
    wire::SessionLimits limits;
    const auto told = nlohmann::json::parse(login.output, nullptr, false);
    if (login.code == 0 && wire::read_value(told, "what the login printed", limits)) {
        return limits;
    }
    return Error{.kind = ErrorKind::node, .message = "the node does not log in to itself: " + why(login)};
}

int run_limits() {
    return write_all(STDOUT_FILENO, wire::dump(own_limits()) + "\n") ? 0 : 1;
}

} // namespace dockdist::node
