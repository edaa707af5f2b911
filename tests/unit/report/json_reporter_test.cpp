#include "client/report/json_reporter.hpp"
#include "support.hpp"

#include <nlohmann/json.hpp>

#include <sstream>

namespace json_reporter_test {

using namespace dockdist;
using namespace std::chrono_literals;
using test::FakeClock;
using test::KeepingSink;
using Kind = Event::Kind;

namespace {

struct Json {
    KeepingSink sink{};
    FakeClock clock{};
    JsonReporter reporter{{.fd = 1, .now = clock.reader()}, sink};
};

} // namespace

TEST_CASE("what is waited for is an event when it changes") {
    Json json;
    json.reporter.on({.kind = Kind::waiting, .text = "waiting for 1 GPU"});
    json.reporter.on({.kind = Kind::still_waiting, .text = "waiting for 1 GPU"});
    json.reporter.on({.kind = Kind::waited, .elapsed = 1200ms});
    json.reporter.on({.kind = Kind::asked, .subject = "node-0"}); // terminals alone have that
    json.reporter.on({.kind = Kind::answered, .subject = "node-0"});
    CHECK(json.sink.written[1] == "{\"type\":\"event\",\"kind\":\"waiting\",\"text\":\"waiting for 1 GPU\"}\n"
                                  "{\"type\":\"event\",\"kind\":\"waited\",\"elapsed_ms\":1200}\n");
}

TEST_CASE("every event is one JSON object a line on stdout, and every error one on stderr") {
    Json json;
    json.reporter.on({.kind = Kind::phase_started, .phase = "create"});
    json.reporter.on(
        {.kind = Kind::step_started, .phase = "create", .subject = "node-0", .text = "create container"});
    json.reporter.on(
        {.kind = Kind::step_progress, .phase = "create", .subject = "node-0", .current = 5, .total = 10});
    json.reporter.on({.kind = Kind::step_finished,
                      .phase = "create",
                      .subject = "node-0",
                      .text = "created",
                      .elapsed = 120ms});
    json.reporter.on({.kind = Kind::step_failed,
                      .phase = "create",
                      .subject = "node-1",
                      .text = "refused",
                      .elapsed = 7ms});
    json.reporter.on({.kind = Kind::phase_finished, .phase = "create", .elapsed = 420ms});
    json.reporter.on({.kind = Kind::warning, .subject = "node-0", .text = "a \"quoted\"\nline\x1b[2J"});
    json.reporter.on({.kind = Kind::note, .text = "not UTF-8: \xFF"});
    json.reporter.error(
        {.kind = ErrorKind::engine, .where = "node-1 (unix:///x)", .message = "no", .hint = "do"});
    json.reporter.error({.kind = ErrorKind::config, .message = "no"});
    json.reporter.finish();
    CHECK(json.sink.written[1].find("\"error\"") == std::string::npos);
    check_golden("report/events.jsonl", json.sink.written[1] + json.sink.written[2]);
    std::istringstream lines(json.sink.written[1] + json.sink.written[2]);
    for (std::string line; std::getline(lines, line);) {
        CHECK(nlohmann::json::accept(line));
    }
}

TEST_CASE("beside one value events are on stderr, too") {
    for (const bool one_value : {true, false}) {
        KeepingSink sink;
        const auto reporter = make_reporter({.format = OutputFormat::json, .one_value = one_value}, sink);
        reporter->on({.kind = Kind::warning, .text = "look"});
        CHECK(sink.written[one_value ? 2 : 1] ==
              "{\"type\":\"event\",\"kind\":\"warning\",\"text\":\"look\"}\n");
        CHECK(sink.written[one_value ? 1 : 2].empty());
    }
}

TEST_CASE("progress as JSON comes once a second for a subject") {
    Json json;
    for (int i = 0; i < 50; ++i) {
        json.reporter.on({.kind = Kind::step_progress, .phase = "image", .subject = "node-0", .current = 1});
        json.clock.advance(50ms);
    }
    CHECK(std::ranges::count(json.sink.written[1], '\n') == 3);
}

} // namespace json_reporter_test
