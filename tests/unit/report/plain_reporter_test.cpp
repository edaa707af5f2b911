#include "client/report/plain_reporter.hpp"
#include "shared/core/text.hpp"
#include "support.hpp"

namespace plain_reporter_test {

using namespace dockdist;
using namespace std::chrono_literals;
using test::FakeClock;
using test::KeepingSink;
using Kind = Event::Kind;

namespace {

struct Plain {
    KeepingSink sink{};
    FakeClock clock{};
    PlainReporter reporter;
    explicit Plain(bool verbose = false) : reporter({.verbose = verbose, .now = clock.reader()}, sink) {}
    const std::string& text() { return sink.written[2]; }
};

} // namespace

TEST_CASE("a pipe gets one line for each step that ended, without control bytes") {
    Plain plain;
    auto& reporter = plain.reporter;
    reporter.on({.kind = Kind::asked, .subject = "node-0"});
    plain.clock.advance(std::chrono::minutes(1));
    reporter.on({.kind = Kind::answered, .subject = "node-0"});
    reporter.on({.kind = Kind::phase_started, .phase = "create"});
    reporter.on(
        {.kind = Kind::step_started, .phase = "create", .subject = "node-0", .text = "create container"});
    reporter.on(
        {.kind = Kind::step_started, .phase = "create", .subject = "node-1", .text = "create container"});
    reporter.on({.kind = Kind::step_finished,
                 .phase = "create",
                 .subject = "node-0",
                 .text = "created",
                 .elapsed = 120ms});
    reporter.on({.kind = Kind::warning, .subject = "node-1", .text = "engine 20.10 is old"});
    reporter.on({.kind = Kind::step_failed,
                 .phase = "create",
                 .subject = "node-1",
                 .text = "create container",
                 .elapsed = 300ms});
    reporter.on({.kind = Kind::phase_finished, .phase = "create", .elapsed = 420ms});
    reporter.on({.kind = Kind::note, .text = "taking back what was made"});
    reporter.error(
        {.where = "node-1 (tcp://10.0.0.2:2375)", .message = "no space left\x1b[2J", .hint = "free some"});
    reporter.finish();
    check_golden("report/plain.txt", plain.text());
}

TEST_CASE("of many hosts a pipe gets the first lines of a phase, then how many there are") {
    Plain plain;
    const auto name = [](int i) { return "node-" + std::to_string(i); };
    plain.reporter.on({.kind = Kind::phase_started, .phase = "create"});
    for (int i = 0; i < 1024; ++i) {
        plain.reporter.on(
            {.kind = Kind::step_started, .phase = "create", .subject = name(i), .text = "create"});
    }
    for (int i = 0; i < 1024; ++i) {
        plain.clock.advance(100ms);
        plain.reporter.on({.kind = i % 16 == 0 ? Kind::step_failed : Kind::step_finished,
                           .phase = "create",
                           .subject = name(i),
                           .text = i % 16 == 0 ? "no space" : "created",
                           .elapsed = 1s});
    }
    plain.reporter.on({.kind = Kind::phase_finished, .phase = "create", .elapsed = 2min});
    const auto lines = split(plain.text(), '\n');
    CHECK(std::ranges::count_if(lines, [](const auto& line) { return line.find("created") != line.npos; }) ==
          20);
    CHECK(std::ranges::count_if(lines, [](const auto& line) { return line.find("no space") != line.npos; }) ==
          20);
    CHECK(lines.size() < 60);
    CHECK(plain.text().find("create: 21 of 1024, 2 failed\n") != std::string::npos);
    CHECK(plain.text().ends_with("create: 960 of 1024, 64 failed (2 min 0 s)\n"));
}

TEST_CASE("a long transfer shows life in a pipe every ten seconds and no oftener") {
    Plain plain;
    plain.reporter.on({.kind = Kind::step_started, .phase = "image", .subject = "node-0", .text = "pulling"});
    for (std::uint64_t second = 1; second <= 25; ++second) {
        plain.clock.advance(1s);
        plain.reporter.on({.kind = Kind::step_progress,
                           .phase = "image",
                           .subject = "node-0",
                           .current = second << 20U,
                           .total = std::uint64_t{100} << 20U});
    }
    CHECK(plain.text() == "node-0: image: pulling 11.0 MiB of 100.0 MiB, 1.0 MiB/s, 1 min 30 s left\n"
                          "node-0: image: pulling 21.0 MiB of 100.0 MiB, 1.0 MiB/s, 1 min 20 s left\n");
    plain.clock.advance(10s);
    plain.reporter.on(
        {.kind = Kind::step_progress, .phase = "image", .subject = "node-0", .text = "extract"});
    CHECK(plain.text().ends_with("20 s left\nnode-0: image: extract\n"));
}

TEST_CASE("what is waited for is told in a pipe when it changes") {
    Plain plain;
    plain.reporter.on({.kind = Kind::waiting, .text = "waiting for 1 GPU: job-a\x1b[2J (1 min)"});
    plain.reporter.on({.kind = Kind::still_waiting, .text = "waiting for 1 GPU: job-a (2 min)"});
    plain.reporter.on({.kind = Kind::waiting, .text = "waiting for 1 GPU: job-b (2 s)"});
    plain.reporter.on({.kind = Kind::waited, .elapsed = 200s});
    CHECK(plain.text() == "waiting for 1 GPU: job-a\\x1b[2J (1 min)\n"
                          "waiting for 1 GPU: job-b (2 s)\n"
                          "waited 3 min 20 s\n");
}

TEST_CASE("verbose plain output tells of starts") {
    Plain plain(true);
    plain.reporter.on(
        {.kind = Kind::step_started, .phase = "join", .subject = "node-0", .text = "exchange keys"});
    CHECK(plain.text() == "node-0: join: exchange keys\n");
}

} // namespace plain_reporter_test
