#include "shared/core/descriptors.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace descriptors_test {
namespace {

rlim_t soft_limit() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur;
}

// In a process of its own, whose limits are nobody else's.
int exit_code_of(bool (*holds)()) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::_exit(holds() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
}

TEST_CASE("all descriptors are taken, and a child gets what we began with") {
    CHECK(exit_code_of([] {
              rlimit limit{};
              ::getrlimit(RLIMIT_NOFILE, &limit);
              limit.rlim_cur = 200;
              ::setrlimit(RLIMIT_NOFILE, &limit);
              dockdist::take_all_descriptors();
              const bool all = soft_limit() == limit.rlim_max;
              dockdist::take_all_descriptors(); // what is given back is what was there at first
              dockdist::give_back_descriptors();
              return all && soft_limit() == 200;
          }) == 0);
}

TEST_CASE("nothing is given back that was not taken") {
    CHECK(exit_code_of([] {
              const auto before = soft_limit();
              dockdist::give_back_descriptors();
              return soft_limit() == before;
          }) == 0);
}

} // namespace
} // namespace descriptors_test
