// Progress bars of ranks on a terminal: a real pty, and what stands on its screen.
#include "client/report/job_output.hpp"
#include "pty.hpp"
#include "screen.hpp"
#include "support.hpp"

namespace job_output_live_test {

using namespace dockdist;
using namespace std::chrono_literals;
using test::FakeClock;
using test::KeepingSink;
using test::Pty;
using test::Screen;

namespace {

// Both streams end on one pty.
class PtySink : public OutputSink {
public:
    explicit PtySink(int fd) : fd_(fd) {}
    void write(int, const Displayable& text) override { sink_.write(fd_, text); }

private:
    int fd_;
    FdSink sink_{};
};

struct Job {
    Pty pty;
    Screen screen;
    FakeClock clock{};
    PtySink sink;
    JobOutput output;

    Job(std::size_t columns, std::size_t rows)
        : pty(columns, rows), screen(columns, rows), sink(pty.terminal()),
          output({.out = {.tty = true, .colour = false, .unicode = true},
                  .err = {.tty = true, .colour = false, .unicode = true},
                  .merged = true,
                  .size = [this](int) { return terminal_size(pty.terminal()); },
                  .now = clock.reader()},
                 sink) {}

    std::string shown() {
        clock.advance(100ms);
        output.flush();
        screen.feed(pty.read());
        return screen.text();
    }
};

} // namespace

TEST_CASE("each rank's progress bar stands below the lines until its line ends") {
    Job job(60, 24);
    const auto a = job.output.add_source("node-0:0");
    const auto b = job.output.add_source("node-0:1");
    job.output.write(a, JobStream::err, "\r 10%|█         |");
    job.output.write(b, JobStream::err, "\r 20%|██        |");
    CHECK(job.shown() == "[node-0:0]  10%|█         |\n[node-0:1]  20%|██        |\n");
    job.output.write(a, JobStream::out, "epoch 1\n");
    job.output.write(b, JobStream::err, "\r 30%|███       |");
    CHECK(job.shown() == "[node-0:0] epoch 1\n[node-0:0]  10%|█         |\n[node-0:1]  30%|███       |\n");
    job.output.write(b, JobStream::err, "\r100%|██████████|\n");
    CHECK(job.shown() == "[node-0:0] epoch 1\n[node-0:1] 100%|██████████|\n[node-0:0]  10%|█         |\n");
    job.output.finish();
    CHECK(job.shown() == "[node-0:0] epoch 1\n[node-0:1] 100%|██████████|\n[node-0:0]  10%|█         |\n");
    CHECK(job.screen.cursor_visible());
}

TEST_CASE("lines and progress bars in one batch leave no rests") {
    Job job(40, 10);
    const auto a = job.output.add_source("n");
    std::string expected;
    for (int i = 0; i < 50; ++i) {
        job.output.write(a, JobStream::err, "\rbar " + std::to_string(i));
        job.output.write(a, JobStream::out, "line " + std::to_string(i) + "\n");
        expected += "[n] line " + std::to_string(i) + "\n";
        CHECK(job.shown() == expected + "[n] bar " + std::to_string(i) + "\n");
    }
}

TEST_CASE("the client's own words stand above the progress bars") {
    Job job(60, 24);
    job.output.write(job.output.add_source("n"), JobStream::err, "\r10%");
    job.shown();
    job.output.message("warning: node-1: connection lost\n");
    CHECK(job.shown() == "warning: node-1: connection lost\n[n] 10%\n");
}

TEST_CASE("live lines are cut to the window and leave half of it to the output") {
    Job job(20, 9);
    for (int i = 0; i < 10; ++i) {
        job.output.write(job.output.add_source("n" + std::to_string(i)), JobStream::err,
                         "\ra very long progress bar");
    }
    CHECK(job.shown() == "[n0] a very long p…\n[n1] a very long p…\n[n2] a very long p…\n… and 7 more\n");
}

TEST_CASE("live lines are drawn ten times a second at most") {
    KeepingSink sink;
    FakeClock clock;
    JobOutput output({.out = {.tty = true},
                      .err = {.tty = true},
                      .merged = true,
                      .size = [](int) { return TerminalSize{}; },
                      .now = clock.reader()},
                     sink);
    const auto a = output.add_source("n");
    for (int i = 0; i < 1000; ++i) { // a second
        output.write(a, JobStream::err, "\r" + std::to_string(i));
        output.flush();
        clock.advance(1ms);
    }
    CHECK(sink.writes == 10);
}

} // namespace job_output_live_test
