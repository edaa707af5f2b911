#include "node/job/silence_watch.hpp"
#include "unit/node/scratch.hpp"
#include "unit/node/turned_loop.hpp"

namespace silence_watch_test {

using namespace dockdist;
using namespace dockdist::node;
using Type = wire::JobEvent::Type;

namespace {

constexpr std::int64_t stall_ms = 60000;

struct Watched {
    explicit Watched(std::int64_t limit_ms = stall_ms)
        : log(*OutputLog::create(scratch.path, 1 << 20)), watch(time.loop, log, limit_ms) {
        watch.on_event = [this](const wire::JobEvent& event) { events.push_back(event.type); };
        watch.begin();
    }

    Scratch scratch{};
    TurnedLoop time{};
    OutputLog log;
    std::vector<Type> events{};
    SilenceWatch watch;
};

} // namespace

TEST_CASE("a part is silent when nothing was written for the limit, and that is told once") {
    Watched part;
    part.time.pass(stall_ms - 1);
    CHECK(part.events.empty());
    part.time.pass(1);
    CHECK(part.events == std::vector{Type::silent});
    part.time.pass(10 * stall_ms);
    CHECK(part.events == std::vector{Type::silent});
}

TEST_CASE("what any rank writes puts the silence off, counted from the last byte") {
    Watched part;
    for (int i = 0; i < 4; ++i) {
        part.time.pass(stall_ms - 1);
        part.watch.heard(1, i % 2, "epoch\n");
    }
    CHECK(part.events.empty());
    part.time.pass(stall_ms - 1);
    CHECK(part.events.empty());
    part.time.pass(1);
    CHECK(part.events == std::vector{Type::silent});
}

TEST_CASE("a silent part that writes takes it back, and may fall silent again") {
    Watched part;
    part.time.pass(stall_ms);
    part.watch.heard(2, -1, "still here\n");
    CHECK(part.events == std::vector{Type::silent, Type::speaks});
    part.time.pass(stall_ms - 1);
    CHECK(part.events.size() == 2);
    part.time.pass(1);
    CHECK(part.events == std::vector{Type::silent, Type::speaks, Type::silent});
}

TEST_CASE("an attempt that has ended is not watched, and the next one begins anew") {
    Watched part;
    part.time.pass(stall_ms - 1);
    part.watch.end();
    part.time.pass(5 * stall_ms);
    CHECK(part.events.empty());
    part.watch.begin();
    part.time.pass(stall_ms - 1);
    CHECK(part.events.empty());
    part.time.pass(1);
    CHECK(part.events == std::vector{Type::silent});
}

TEST_CASE("without a limit nothing is watched, and a report of no ranks is made at once") {
    Watched part(0);
    part.time.pass(100 * stall_ms);
    CHECK(part.events.empty());
    part.watch.report({}, 0, {}, {});
    CHECK(part.events == std::vector{Type::reported});
}

} // namespace silence_watch_test
