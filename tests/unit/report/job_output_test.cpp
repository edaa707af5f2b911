#include "client/report/job_output.hpp"
#include "support.hpp"

namespace job_output_test {

using namespace dockdist;
using test::FakeClock;
using test::KeepingSink;

namespace {

constexpr OutputTraits a_pipe{.unicode = true};

// Two pipes, unless told otherwise.
struct Job {
    KeepingSink sink{};
    FakeClock clock{};
    JobOutput output;
    explicit Job(JobOutputOptions options = {.out = a_pipe, .err = a_pipe})
        : output(with_clock(std::move(options)), sink) {}

    std::string out() {
        output.flush();
        return sink.written[1];
    }
    std::string err() {
        output.flush();
        return sink.written[2];
    }

private:
    JobOutputOptions with_clock(JobOutputOptions options) {
        options.now = clock.reader();
        return options;
    }
};

} // namespace

TEST_CASE("the lines of many ranks come whole, each with its source, to the stream they were written to") {
    Job job;
    const auto a = job.output.add_source("node-0:0");
    const auto b = job.output.add_source("node-12:15");
    job.output.write(a, JobStream::out, "epoch 1 lo");
    job.output.write(b, JobStream::out, "epoch 1 loss 0.43\nepoch 2 ");
    job.output.write(a, JobStream::err, "warning: slow\n");
    job.output.write(a, JobStream::out, "ss 0.42\n");
    job.output.write(b, JobStream::out, "loss 0.40\n");
    CHECK(job.out() == "[node-12:15] epoch 1 loss 0.43\n"
                       "[node-0:0]   epoch 1 loss 0.42\n"
                       "[node-12:15] epoch 2 loss 0.40\n");
    CHECK(job.err() == "[node-0:0]   warning: slow\n");
}

TEST_CASE("a line that never ended is printed when its source ends") {
    Job job;
    const auto a = job.output.add_source("node-0");
    job.output.write(a, JobStream::out, "Killed");
    job.output.write(a, JobStream::err, "50%\r60%");
    CHECK(job.out().empty());
    job.output.end(a);
    CHECK(job.out() == "[node-0] Killed\n");
    CHECK(job.err() == "[node-0] 60%\n");
}

TEST_CASE("finish prints what every source still holds, once") {
    Job job;
    job.output.write(job.output.add_source("a"), JobStream::out, "x");
    job.output.write(job.output.add_source("b"), JobStream::out, "y");
    job.output.finish();
    job.output.finish();
    CHECK(job.out() == "[a] x\n[b] y\n");
}

TEST_CASE("a rank cannot forge another rank's line, nor the terminal") {
    Job job;
    const auto rank = job.output.add_source("node-0:0");
    job.output.add_source("node-0:1");
    job.output.write(rank, JobStream::out, "\r[node-0:1] all is well\n");
    job.output.write(rank, JobStream::out, "x\x1b[1A\r\x1b[2K[node-0:1] forged\x1b[2J\n");
    job.output.write(rank, JobStream::out, "\x1b]0;title\x07\x1b[3;1H\x08\x0b\x0c\n");
    job.output.write(rank, JobStream::out, "a\u2028[node-0:1] b\n");
    const auto text = job.out();
    check_golden("report/forged.txt", text);
    for (const char c : text) {
        CHECK((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
    }
}

TEST_CASE("a pipe gets no colours") {
    Job job;
    job.output.write(job.output.add_source("node-0"), JobStream::out, "\x1b[31mred\x1b[0m\n");
    CHECK(job.out() == "[node-0] red\n");
}

TEST_CASE("on a terminal the ranks' colours stay and end with their line") {
    Job job({.out = {.tty = true, .colour = true, .unicode = true}, .err = a_pipe});
    job.output.write(job.output.add_source("node-0"), JobStream::out, "\x1b[31mred\nplain\n");
    CHECK(job.out() == "\x1b[36m[node-0]\x1b[0m \x1b[31mred\x1b[0m\n"
                       "\x1b[36m[node-0]\x1b[0m plain\n");
}

TEST_CASE("NO_COLOR on a terminal means no colour from anybody") {
    Job job({.out = {.tty = true, .colour = false, .unicode = true}, .err = a_pipe});
    job.output.write(job.output.add_source("node-0"), JobStream::out, "\x1b[31mred\n");
    CHECK(job.out() == "[node-0] red\n");
}

TEST_CASE("in a pipe a progress bar is its final state") {
    Job job;
    const auto a = job.output.add_source("node-0");
    job.output.write(a, JobStream::err, "\r 50%|█████     | 5/10");
    job.output.write(a, JobStream::err, "\r100%|██████████| 10/10\n");
    CHECK(job.err() == "[node-0] 100%|██████████| 10/10\n");
}

TEST_CASE("a character that comes in two pieces stays whole") {
    Job job;
    const auto a = job.output.add_source("node-0");
    job.output.write(a, JobStream::out, "\xE2\x86");
    job.output.write(a, JobStream::out, "\x92 next\n");
    CHECK(job.out() == "[node-0] → next\n");
}

TEST_CASE("a very long line comes in parts that say that they go on") {
    Job job;
    const auto a = job.output.add_source("node-0");
    job.output.add_source("node-10");
    const std::string part(LineSplitter::limit, 'x');
    job.output.write(a, JobStream::out, part + part + "end\n");
    CHECK(job.out() == "[node-0]  " + part + "\n[node-0]+ " + part + "\n[node-0]+ end\n");
}

TEST_CASE("raw passes every byte as it came") {
    Job job({.out = a_pipe, .err = a_pipe, .raw = true});
    const auto a = job.output.add_source("node-0");
    job.output.write(a, JobStream::out, std::string_view("\x1b[2J\0\xFF no newline", 17));
    CHECK(job.out() == std::string_view("\x1b[2J\0\xFF no newline", 17));
}

TEST_CASE("without prefix the lines stay safe") {
    Job job({.out = a_pipe, .err = a_pipe, .prefix = false});
    job.output.write(job.output.add_source("node-0"), JobStream::out, "a\x1b[2J\n");
    CHECK(job.out() == "a\\x1b[2J\n");
}

TEST_CASE("where stdout and stderr are one file the order of arrival stays") {
    Job job({.out = a_pipe, .err = a_pipe, .merged = true});
    const auto a = job.output.add_source("n");
    job.output.write(a, JobStream::out, "1\n");
    job.output.write(a, JobStream::err, "2\n");
    job.output.message("note\n");
    job.output.write(a, JobStream::out, "3\n");
    CHECK(job.out() == "[n] 1\n[n] 2\nnote\n[n] 3\n");
    CHECK(job.err().empty());
}

TEST_CASE("the client's own words go to stderr") {
    Job job;
    job.output.message("warning: node-1: connection lost, trying again\n");
    CHECK(job.err() == "warning: node-1: connection lost, trying again\n");
}

TEST_CASE("output is written in large pieces, and no more than a buffer is held back") {
    Job job;
    const auto a = job.output.add_source("node-0");
    std::string lines;
    for (int i = 0; i < 1000; ++i) {
        lines += "a line of ordinary length with some numbers " + std::to_string(i) + "\n";
    }
    std::size_t fed = 0;
    for (int i = 0; i < 100; ++i) {
        job.output.write(a, JobStream::out, lines);
        fed += lines.size();
        REQUIRE(fed - std::min(fed, job.sink.written[1].size()) <= 256U * 1024);
    }
    CHECK(job.sink.writes <= fed / (128U * 1024));
    CHECK(std::ranges::count(job.out(), '\n') == 100'000);
}

TEST_CASE("a label cannot break the prefix") {
    Job job;
    job.output.write(job.output.add_source("a\n\x1b[2J"), JobStream::out, "x\n");
    CHECK(job.out() == "[a\\x0a\\x1b[2J] x\n");
}

} // namespace job_output_test
