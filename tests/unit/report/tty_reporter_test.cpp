#include "client/report/tty_reporter.hpp"
#include "pty.hpp"
#include "screen.hpp"
#include "support.hpp"

namespace tty_reporter_test {

using namespace dockdist;
using namespace std::chrono_literals;
using test::FakeClock;
using test::KeepingSink;
using test::Pty;
using test::Screen;
using Kind = Event::Kind;

namespace {

constexpr OutputTraits plain_terminal{.tty = true, .colour = false, .unicode = true};

// A reporter on a real pseudo-terminal, and what stands on its screen.
struct Terminal {
    Pty pty;
    Screen screen;
    FakeClock clock{};
    FdSink sink{};
    TtyReporter reporter;

    Terminal(std::size_t columns, std::size_t rows, OutputTraits traits = plain_terminal,
             bool verbose = false)
        : pty(columns, rows), screen(columns, rows),
          reporter({.traits = traits,
                    .verbose = verbose,
                    .fd = pty.terminal(),
                    .size = [this] { return terminal_size(pty.terminal()); },
                    .now = clock.reader()},
                   sink) {}

    void on(const Event& event, std::chrono::milliseconds later = 100ms) {
        clock.advance(later);
        reporter.on(event);
    }
    void create(const std::string& node) {
        on({.kind = Kind::step_started, .phase = "create", .subject = node, .text = "create container"});
    }
    void created(const std::string& node) {
        on({.kind = Kind::step_finished,
            .phase = "create",
            .subject = node,
            .text = "created",
            .elapsed = 120ms});
    }
    void failed(const std::string& node) {
        on({.kind = Kind::step_failed,
            .phase = "create",
            .subject = node,
            .text = "create container",
            .elapsed = 90ms});
    }
    std::string shown() {
        screen.feed(pty.read());
        return screen.text();
    }
    void resize(std::size_t columns, std::size_t rows) {
        shown();
        pty.resize(columns, rows);
        screen.resize(columns, rows);
    }
};

} // namespace

TEST_CASE("each host has a line under the phase that is under way") {
    Terminal terminal(80, 24);
    terminal.on({.kind = Kind::phase_started, .phase = "create"});
    terminal.create("node-0");
    terminal.create("node-1");
    terminal.create("gpu-box-2");
    terminal.created("node-0");
    terminal.failed("gpu-box-2");
    check_golden("report/tty_under_way.txt", terminal.shown());
}

TEST_CASE("a transfer shows bytes and speed") {
    Terminal terminal(100, 24);
    terminal.on({.kind = Kind::step_started, .phase = "image", .subject = "node-0", .text = "pulling"});
    const auto progress = [](std::uint64_t mib) {
        return Event{.kind = Kind::step_progress,
                     .phase = "image",
                     .subject = "node-0",
                     .current = mib << 20U,
                     .total = std::uint64_t{64} << 20U};
    };
    terminal.on(progress(16), 1s);
    terminal.on(progress(32), 1s);
    CHECK(terminal.shown() == "⠙ image  0 of 1  2.00 s\n"
                              "  ⠙ node-0  pulling  32.0 MiB of 64.0 MiB, 16.0 MiB/s, 3 s left  2.00 s\n");
}

TEST_CASE("a phase that has ended is one line, and failures keep theirs") {
    Terminal terminal(80, 24);
    terminal.on({.kind = Kind::phase_started, .phase = "create"});
    terminal.create("node-0");
    terminal.create("node-1");
    terminal.created("node-0");
    terminal.failed("node-1");
    terminal.on({.kind = Kind::phase_finished, .phase = "create", .elapsed = 420ms});
    terminal.reporter.finish();
    terminal.reporter.error({.where = "node-1", .message = "no space left", .hint = "free some"});
    check_golden("report/tty_ended.txt", terminal.shown());
}

TEST_CASE("who has been asked for half a second and has not answered is named, and goes without a trace") {
    Terminal terminal(80, 24);
    for (const auto* const node : {"node-0", "node-1", "node-2", "node-2"}) {
        terminal.on({.kind = Kind::asked, .subject = node});
    }
    terminal.on({.kind = Kind::answered, .subject = "node-1"}, 0ms);
    terminal.reporter.tick();
    CHECK(terminal.shown().empty());
    terminal.clock.advance(300ms);
    terminal.reporter.tick();
    CHECK(terminal.shown() == "⠧ waiting for node-[0,2] (0.60 s)\n");
    terminal.on({.kind = Kind::warning, .subject = "a", .text = "old engine"});
    terminal.on({.kind = Kind::answered, .subject = "node-0"}, 1s);
    terminal.on({.kind = Kind::answered, .subject = "node-2"});
    terminal.on({.kind = Kind::answered, .subject = "node-2"});
    CHECK(terminal.shown() == "warning: a: old engine\n");
    terminal.on({.kind = Kind::asked, .subject = "node-3"});
    terminal.clock.advance(1s);
    terminal.reporter.tick();
    terminal.reporter.error({.message = "interrupted"});
    terminal.reporter.finish();
    CHECK(terminal.shown() == "warning: a: old engine\nerror: interrupted\n");
}

TEST_CASE("notes, warnings and errors stand above what is live") {
    Terminal terminal(80, 24);
    terminal.create("node-0");
    terminal.on({.kind = Kind::note, .text = "waiting for the lock"});
    terminal.on({.kind = Kind::warning, .subject = "node-0", .text = "old engine"});
    terminal.reporter.error({.message = "one host failed"});
    CHECK(terminal.shown() == "waiting for the lock\n"
                              "warning: node-0: old engine\n"
                              "error: one host failed\n"
                              "⠸ create  0 of 1  0.20 s\n"
                              "  ⠸ node-0  create container  0.20 s\n");
}

TEST_CASE("with more hosts than lines, the failed and the working ones come first") {
    Terminal terminal(80, 8);
    for (int i = 0; i < 200; ++i) {
        terminal.create("node-" + std::to_string(i));
        terminal.shown();
    }
    for (int i = 0; i < 20; ++i) {
        terminal.created("node-" + std::to_string(i));
        terminal.shown();
    }
    terminal.failed("node-150");
    check_golden("report/tty_many.txt", terminal.shown());
}

TEST_CASE("where most have failed, those that are still at work have their lines all the same") {
    Terminal terminal(80, 10);
    for (int i = 0; i < 64; ++i) {
        terminal.create("node-" + std::to_string(i));
        terminal.shown();
    }
    for (int i = 0; i < 60; ++i) {
        terminal.failed("node-" + std::to_string(i));
        terminal.shown();
    }
    check_golden("report/tty_failing.txt", terminal.shown());
}

TEST_CASE("a narrower window cuts lines and leaves no rests of the wider one") {
    Terminal terminal(80, 24);
    terminal.on({.kind = Kind::note, .text = "before"});
    terminal.create("node-0");
    terminal.create("node-1");
    terminal.resize(24, 24);
    terminal.clock.advance(100ms);
    terminal.reporter.tick();
    CHECK(terminal.shown() == "before\n"
                              "⠼ create  0 of 2  0.20…\n"
                              "  ⠼ node-0  create con…\n"
                              "  ⠼ node-1  create con…\n");
    terminal.resize(80, 24);
    terminal.clock.advance(100ms);
    terminal.reporter.tick();
    CHECK(terminal.shown() == "before\n"
                              "⠴ create  0 of 2  0.30 s\n"
                              "  ⠴ node-0  create container  0.30 s\n"
                              "  ⠴ node-1  create container  0.20 s\n");
}

TEST_CASE("interrupted work stays on the screen as it was, with the cursor below it") {
    Terminal terminal(80, 24);
    terminal.create("node-0");
    terminal.create("node-1");
    terminal.created("node-0");
    terminal.reporter.finish();
    CHECK(terminal.shown() == "· create  1 of 2  0.20 s\n"
                              "  · node-1  create container  0.10 s\n");
    CHECK(terminal.screen.cursor_visible());
    CHECK(terminal.screen.cursor_column() == 0);
}

TEST_CASE("verbose keeps a line for every host") {
    Terminal terminal(80, 24, plain_terminal, true);
    terminal.create("node-0");
    terminal.created("node-0");
    terminal.on({.kind = Kind::phase_finished, .phase = "create", .elapsed = 130ms});
    CHECK(terminal.shown() == "✓ create  1 of 1  0.13 s\n"
                              "  ✓ node-0  created  0.12 s\n");
}

TEST_CASE("a terminal without UTF-8 gets ASCII") {
    Terminal terminal(80, 24, {.tty = true, .colour = false, .unicode = false});
    terminal.create("node-0");
    terminal.failed("node-1");
    CHECK(terminal.shown() == "- create  0 of 2, 1 failed  0.10 s\n"
                              "  - node-0  create container  0.10 s\n"
                              "  x node-1  create container  0.09 s\n");
}

TEST_CASE("without colour no colour sequence is sent") {
    Terminal terminal(80, 24);
    terminal.create("node-0");
    terminal.created("node-0");
    CHECK(terminal.pty.read().find(sgr_reset) == std::string::npos);
}

TEST_CASE("colours end where they should") {
    Terminal terminal(80, 24, {.tty = true, .colour = true, .unicode = true});
    terminal.create("node-0");
    terminal.created("node-0");
    const auto bytes = terminal.pty.read();
    CHECK(bytes.find("\x1b[32m✓\x1b[0m node-0") != std::string::npos);
    terminal.screen.feed(bytes);
    CHECK_FALSE(terminal.screen.coloured());
}

TEST_CASE("text from a host cannot leave its line") {
    Terminal terminal(120, 24);
    terminal.on({.kind = Kind::step_started, .phase = "join", .subject = "a\nb", .text = "x\x1b[2J\ty\r"});
    CHECK(terminal.shown() == "⠙ join  0 of 1  0.00 s\n"
                              "  ⠙ a\\x0ab  x\\x1b[2J y\\x0d  0.00 s\n");
}

TEST_CASE("what is waited for stands below everything, whole, until it is over") {
    Terminal terminal(40, 24);
    terminal.on(
        {.kind = Kind::waiting, .text = "waiting for 1 GPU: node-0 GPU 0 job-a (1 min); place 1 in line"});
    CHECK(terminal.shown() == "⠙ waiting for 1 GPU: node-0 GPU 0 job-a\n"
                              "  (1 min); place 1 in line (0.00 s)\n");
    terminal.on({.kind = Kind::warning, .subject = "node-0", .text = "GPU 1 is broken"});
    terminal.on({.kind = Kind::still_waiting, .text = "waiting for 1 GPU: node-0 GPU 0 job-a (2 min)\x1b[2J"},
                59900ms);
    CHECK(terminal.shown() == "warning: node-0: GPU 1 is broken\n"
                              "⠙ waiting for 1 GPU: node-0 GPU 0 job-a\n"
                              "  (2 min)\\x1b[2J (1 min 0 s)\n");
    SUBCASE("because it goes on") {
        terminal.on({.kind = Kind::waited, .elapsed = 60s});
        CHECK(terminal.shown() == "warning: node-0: GPU 1 is broken\nwaited 1 min 0 s\n");
    }
    SUBCASE("because it ends") {
        terminal.reporter.error({.message = "interrupted"});
        terminal.reporter.finish();
        CHECK(terminal.shown() == "warning: node-0: GPU 1 is broken\nerror: interrupted\n");
    }
}

TEST_CASE("a thousand events within a tenth of a second are one redraw") {
    KeepingSink sink;
    FakeClock clock;
    TtyReporter reporter({.traits = plain_terminal, .now = clock.reader()}, sink);
    for (int i = 0; i < 1000; ++i) {
        reporter.on({.kind = Kind::step_started,
                     .phase = "create",
                     .subject = "node-" + std::to_string(i % 64),
                     .text = "x"});
    }
    CHECK(sink.writes == 1);
    clock.advance(99ms);
    reporter.tick();
    CHECK(sink.writes == 1);
    clock.advance(1ms);
    reporter.tick();
    CHECK(sink.writes == 2);
}

} // namespace tty_reporter_test
