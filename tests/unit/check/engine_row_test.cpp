#include "check/engine_row.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/run_task.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

using namespace dockdist;
using namespace std::chrono_literals;

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
    FakeEngine engine(io.get_executor(), "a");
    engine.engine_info.version = "26.1.5";
    engine.engine_info.api = {1, 45};
    engine.engine_info.system_time = "2001-01-01T00:00:00Z";
    const auto rows = run_task(io, check_engine({.name = HostName("a")}, engine));
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].text.starts_with("Engine 26.1.5, API 1.45, "));
    CHECK(rows[0].text.ends_with(" ms"));
    CHECK(rows[1].check == "clock");
    CHECK(rows[1].state == CheckRow::State::warn);
    engine.engine_info.system_time.clear();
    CHECK(run_task(io, check_engine({.name = HostName("a")}, engine)).size() == 1);
}
