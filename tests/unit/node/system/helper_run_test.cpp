#include "node/system/helper_run.hpp"
#include "patience.hpp"
#include "unit/node/turned_loop.hpp"

#include <chrono>
#include <optional>
#include <sys/wait.h>

namespace helper_run_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

struct Helped {
    explicit Helped(const std::string& script)
        : run(time.loop,
              {.program = {.path = "/bin/sh"},
               .argv = {"sh", "-c", script},
               .environment = Environment::own()},
              5000, [this](Finished done) { finished = std::move(done); }) {}
    Finished end() {
        const auto deadline = patience_ends();
        while (!finished) {
            REQUIRE(std::chrono::steady_clock::now() < deadline);
            (void)time.loop.turn(5);
            time.now_ms += 3;
        }
        return *finished;
    }
    TurnedLoop time{};
    std::optional<Finished> finished{};
    HelperRun run;
};

} // namespace

TEST_CASE("a helper beside the loop is heard to its end, without what it says on stderr") {
    const auto done = Helped("echo one; echo two >&2; exit 3").end();
    CHECK(done.code == 3);
    CHECK(done.output == "one\n");
    CHECK(Helped("head -c 3000000 /dev/zero").end().output.size() == (1U << 20U));
}

TEST_CASE("one that hangs is ended with what it has started") {
    Helped hangs("echo begun; sleep 1000");
    hangs.time.pass(4900);
    CHECK_FALSE(hangs.finished.has_value());
    hangs.time.pass(200);
    REQUIRE(hangs.finished.has_value());
    CHECK(hangs.finished->code == -1);
}

TEST_CASE("a program that is not there has the code that a shell gives") {
    TurnedLoop time;
    std::optional<Finished> finished;
    const HelperRun run(time.loop, {.program = {.path = "/no/such/program"}, .argv = {"program"}}, 5000,
                        [&](Finished done) { finished = std::move(done); });
    while (!finished) {
        (void)time.loop.turn(5);
        time.now_ms += 3;
    }
    CHECK(finished->code == 127);
}

} // namespace helper_run_test
