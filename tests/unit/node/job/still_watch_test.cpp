#include "node/job/still_watch.hpp"
#include "unit/node/turned_loop.hpp"

#include <vector>

namespace still_watch_test {

using namespace dockdist;
using namespace dockdist::node;
using Type = wire::JobEvent::Type;

namespace {

constexpr std::int64_t suspect_ms = 30000;

struct Watched {
    explicit Watched(std::int64_t limit_ms = suspect_ms)
        : watch(time.loop, limit_ms, [this] {
              ++readings;
              return StillWatch::Reading{.cpu_ms = cpu_percent * (time.now_ms - begun_ms) / 100 + used_ms,
                                         .ranks = 2,
                                         .runs = main_runs()};
          }) {
        watch.on_event = [this](const wire::JobEvent& event) { events.push_back(event.type); };
        watch.begin();
    }
    std::int64_t main_runs() const {
        return !knows_runs ? StillWatch::unknown_runs : runs_each_ms == 0 ? 7 : time.now_ms / runs_each_ms;
    }
    // A line every few seconds, for so long.
    void writes(std::int64_t milliseconds) {
        for (std::int64_t passed = 0; passed < milliseconds; passed += suspect_ms / 6) {
            time.pass(suspect_ms / 6);
            watch.heard();
        }
    }
    void works_at(std::int64_t percent) {
        used_ms += (cpu_percent - percent) * (time.now_ms - begun_ms) / 100;
        cpu_percent = percent;
    }

    TurnedLoop time{};
    std::int64_t begun_ms = time.now_ms;
    std::int64_t cpu_percent = 0, used_ms = 0;
    int readings = 0;
    bool knows_runs = true;
    std::int64_t runs_each_ms = 1000; // a main thread of it; 0: none does
    std::vector<Type> events{};
    StillWatch watch;
};

} // namespace

TEST_CASE("a part is still once nothing was written and next to nothing computed, and that is told once") {
    Watched part;
    part.works_at(20); // what two ranks' watchdogs may take
    part.time.pass(suspect_ms - 1);
    CHECK(part.events.empty());
    part.time.pass(1);
    CHECK(part.events == std::vector{Type::still});
    part.time.pass(20 * suspect_ms);
    CHECK(part.events.size() == 1);
}

TEST_CASE("who computes in silence is still half as long later, and once more when that ends") {
    Watched part;
    part.works_at(21);
    part.time.pass(suspect_ms * 3 / 2 - 1);
    CHECK(part.events.empty());
    part.time.pass(suspect_ms / 2);
    CHECK(part.events == std::vector{Type::still});
    part.works_at(0);
    part.time.pass(suspect_ms);
    CHECK(part.events == std::vector{Type::still, Type::still});
    part.works_at(100);
    part.time.pass(suspect_ms);
    CHECK(part.events.size() == 2);
    part.works_at(0);
    part.time.pass(suspect_ms);
    CHECK(part.events.size() == 3);
}

TEST_CASE("a job of which one rank writes, and whose main threads run now and then, is not suspected") {
    for (const std::int64_t each_ms : {std::int64_t{100}, suspect_ms}) {
        Watched part;
        part.runs_each_ms = each_ms;
        part.writes(20 * suspect_ms);
        CHECK(part.events.empty());
    }
    Watched unknown;
    unknown.knows_runs = false;
    unknown.runs_each_ms = 0;
    unknown.writes(20 * suspect_ms);
    CHECK(unknown.events.empty());
}

TEST_CASE("who writes while no main thread runs hides nothing, as long as nobody computes either") {
    Watched part;
    part.runs_each_ms = 0;
    part.writes(suspect_ms * 3 / 2);
    CHECK(part.events.empty());
    part.writes(suspect_ms / 2); // it is read every third of that, from the first one on
    CHECK(part.events == std::vector{Type::still});
    part.writes(10 * suspect_ms);
    CHECK(part.events.size() == 1);
    part.runs_each_ms = 1000;
    part.writes(suspect_ms);
    CHECK(part.events == std::vector{Type::still, Type::goes_on});
    Watched busy;
    busy.runs_each_ms = 0;
    busy.works_at(21);
    busy.writes(20 * suspect_ms);
    CHECK(busy.events.empty());
}

TEST_CASE("what is written takes the suspicion back") {
    Watched part;
    part.time.pass(suspect_ms);
    part.watch.heard();
    CHECK(part.events == std::vector{Type::still, Type::goes_on});
    part.watch.heard();
    CHECK(part.events.size() == 2);
    part.time.pass(2 * suspect_ms);
    CHECK(part.events == std::vector{Type::still, Type::goes_on, Type::still});
}

TEST_CASE("without a limit, and after its end, it watches nothing") {
    Watched off(0);
    off.time.pass(100 * suspect_ms);
    CHECK(off.readings == 0);
    Watched ended;
    ended.watch.end();
    ended.time.pass(100 * suspect_ms);
    CHECK(ended.events.empty());
}

} // namespace still_watch_test
