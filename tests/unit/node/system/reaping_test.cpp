#include "node/system/process.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace reaping_test {

using namespace dockdist::node;

TEST_CASE("children are reaped in turns, and spared until then") {
    std::vector<pid_t> children;
    for (int i = 0; i < 600; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            ::_exit(3);
        }
        children.push_back(child);
    }
    spare_helper(children.front());
    for (const auto child : children) {
        siginfo_t info{};
        REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
    }
    std::size_t reaped = 0;
    const auto count = [&](pid_t, int status) { reaped += exit_status(status).code == 3 ? 1 : 0; };
    CHECK(spared_helpers().contains(children.front()));
    CHECK(reap_children(count));
    CHECK(reaped < children.size());
    CHECK_FALSE(reap_children(count));
    CHECK(reaped == children.size());
    CHECK_FALSE(spared_helpers().contains(children.front()));
}

} // namespace reaping_test
