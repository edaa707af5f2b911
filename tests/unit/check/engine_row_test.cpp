#include "client/check/engine_row.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/run_task.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

namespace engine_row_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

ClusterSpec one_host() {
    ClusterSpec spec;
    spec.hosts.push_back({.name = HostName("a"), .gpus = {.kind = GpuSpec::Kind::none}});
    return spec;
}

} // namespace

TEST_CASE("a clock is judged by how far it is off, as well as the round trip lets one know") {
    CHECK(judge_clock("a", 20ms, 1ms).text == "as on this machine");
    CHECK(judge_clock("a", -1500ms, 1ms).text == "1.5 s behind this machine's");
    CHECK(judge_clock("a", -1500ms, 1ms).state == CheckRow::State::pass);
    const auto row = judge_clock("a", 95s, 1ms);
    CHECK(row.state == CheckRow::State::warn);
    CHECK(row.text == "95 s ahead of this machine's");
    CHECK(row.hint.starts_with("keep the hosts' clocks by NTP"));
    CHECK(judge_clock("a", 3s, 4s).state == CheckRow::State::pass); // nobody can know better
}

TEST_CASE("an engine's row names version, API, address and round trip; a wrong clock has a row of its own") {
    boost::asio::io_context io;
    const auto spec = one_host();
    FakeEngine engine(io.get_executor(), "a");
    engine.engine_info.version = "26.1.5";
    engine.engine_info.api = {1, 45};
    engine.engine_info.system_time = "2001-01-01T00:00:00Z";
    const auto rows = run_task(io, check_engine(spec, spec.hosts.front(), engine)).rows;
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].text.starts_with("Engine 26.1.5, API 1.45, "));
    CHECK(rows[0].text.ends_with(" ms"));
    CHECK(rows[1].check == "clock");
    CHECK(rows[1].state == CheckRow::State::warn);
    engine.engine_info.system_time.clear();
    CHECK(run_task(io, check_engine(spec, spec.hosts.front(), engine)).rows.size() == 1);
}

TEST_CASE("what an engine cannot do is a row that fails, what it does in its own way one that warns") {
    boost::asio::io_context io;
    auto spec = one_host();
    spec.hosts.front().gpus.kind = GpuSpec::Kind::all;
    spec.container.mounts = {{.source = "/data", .target = "/data"}};
    FakeEngine engine(io.get_executor(), "a");
    engine.engine_info = {.api = {1, 41}, .version = "4.3.1", .podman = true};
    const auto rows = run_task(io, check_engine(spec, spec.hosts.front(), engine)).rows;
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].text.starts_with("Podman 4.3.1, API 1.41, "));
    CHECK(rows[0].state == CheckRow::State::pass);
    CHECK(rows[1].text == "Podman 4.3.1 ignores all GPU requests of its Docker-compatible API");
    CHECK(rows[1].state == CheckRow::State::fail);
    CHECK(rows[1].hint.starts_with("upgrade Podman on that host to 5.4"));
    CHECK(rows[2].state == CheckRow::State::warn);
    for (const auto& row : rows) {
        CHECK(row.check == "engine");
    }
}

TEST_CASE("engines with known holes are one row; new ones and Podman are none") {
    const auto engine = [](const char* host, const char* version, bool podman = false) {
        return std::pair(HostName(host), EngineInfo{.version = version, .podman = podman});
    };
    const auto old =
        judge_security({engine("a", "20.10.24+dfsg1"), engine("b", "29.5.0"), engine("c", "29.5.1")});
    REQUIRE(old.size() == 1);
    CHECK(old[0].state == CheckRow::State::warn);
    CHECK(old[0].subject == "a, b");
    CHECK(old[0].text == "Engine 20.10.24+dfsg1 (a), Engine 29.5.0 (b) have known security holes");
    CHECK(old[0].hint == "upgrade Docker there to 29.5.1 or newer");

    const auto all = judge_security({engine("a", "26.1.5"), engine("b", "26.1.5")});
    REQUIRE(all.size() == 1);
    CHECK(all[0].subject == "all hosts");
    CHECK(all[0].text == "Engine 26.1.5 have known security holes");

    const auto well = judge_security({engine("a", "29.5.1"), engine("b", "30.0.0-rc.1")});
    REQUIRE(well.size() == 1);
    CHECK(well[0].state == CheckRow::State::pass);
    CHECK(judge_security({engine("a", "5.4.2", true)}).empty());
    CHECK(judge_security({engine("a", "dev")}).empty());
    CHECK(judge_security({}).empty());
}

} // namespace engine_row_test
