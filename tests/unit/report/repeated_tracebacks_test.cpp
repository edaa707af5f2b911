#include "client/report/job_output.hpp"
#include "unit/report/support.hpp"

#include <doctest/doctest.h>

namespace repeated_tracebacks_test {

using namespace dockdist;
using namespace dockdist::test;

namespace {

std::string traceback(int rank, const std::string& message = "shapes do not match") {
    const auto number = std::to_string(rank);
    return "Traceback (most recent call last):\n  File \"/workspace/train.py\", line 12, in <module>\n    "
           "main()\n    ~~~~^^\n"
           "  File \"/workspace/train.py\", line 7, in main\n    step(rank)\nRuntimeError: [rank " +
           number + "] " + message + " at 0x7f" + number + "0 on cuda:" + number + "\n";
}

std::string tagged(const std::string& lines, const std::string& tag) {
    std::string text;
    std::size_t begin = 0;
    for (auto end = lines.find('\n'); end != std::string::npos; end = lines.find('\n', begin)) {
        text += tag + lines.substr(begin, end - begin + 1);
        begin = end + 1;
    }
    return text;
}

struct Screen {
    Screen() {
        for (const auto* label : {"node-0:0", "node-0:1", "node-1:2"}) {
            sources.push_back(output.add_source(label));
        }
    }
    void write(std::size_t rank, const std::string& text) {
        output.write(sources[rank], JobStream::err, text);
    }
    std::string shown() {
        output.flush();
        return sink.written[2];
    }

    KeepingSink sink{};
    std::chrono::steady_clock::time_point now{};
    JobOutput output{{.folds = true, .now = [this] { return now; }}, sink};
    std::vector<JobOutput::Source> sources{};
};

} // namespace

TEST_CASE("of tracebacks that differ in what is each rank's own the first is shown, and the others counted") {
    Screen screen;
    screen.write(0, "before\n" + traceback(0) + "after\n");
    screen.write(2, tagged(traceback(2), "[rank2]: "));
    screen.write(1, traceback(1).substr(0, 100)); // the two come at the same time
    screen.write(1, traceback(1).substr(100));
    CHECK(screen.shown() ==
          tagged("before\n" + traceback(0) + "after\n", "[node-0:0] ") +
              "[node-1:2] … the same 7 lines as node-0:0: RuntimeError: [rank 2] shapes do not "
              "match at 0x7f20 on cuda:2\n"
              "[node-0:1] … the same 7 lines as node-0:0: RuntimeError: [rank 1] shapes do not "
              "match at 0x7f10 on cuda:1\n");
}

TEST_CASE("another exception is shown, and so is what one rank says again") {
    Screen screen;
    screen.write(0, traceback(0));
    screen.write(1, traceback(1, "batch 32 is not 31"));
    screen.write(0, traceback(0));
    CHECK(screen.shown() == tagged(traceback(0), "[node-0:0] ") +
                                tagged(traceback(1, "batch 32 is not 31"), "[node-0:1] ") +
                                tagged(traceback(0), "[node-0:0] "));
}

TEST_CASE("boxes are tracebacks too") {
    const std::string box =
        "╭──── Traceback (most recent call last) ────╮\n│ /workspace/train.py:12 in main             │\n"
        "╰────────────────────────────────────────────╯\nValueError: no\n";
    Screen screen;
    screen.write(0, box);
    screen.write(1, box);
    CHECK(screen.shown() ==
          tagged(box, "[node-0:0] ") + "[node-0:1] … the same 4 lines as node-0:0: ValueError: no\n");
}

TEST_CASE("where nothing is to be folded all is shown") {
    KeepingSink sink;
    JobOutput output({}, sink);
    for (const int rank : {0, 1}) {
        output.write(output.add_source(std::to_string(rank)), JobStream::err, traceback(rank));
    }
    output.finish();
    CHECK(sink.written[2] == tagged(traceback(0), "[0] ") + tagged(traceback(1), "[1] "));
}

TEST_CASE("one that does not end is shown after a while, and at the end") {
    Screen screen;
    const auto half = traceback(0).substr(0, 88) + "\n";
    screen.write(0, half);
    CHECK(screen.shown().empty());
    screen.now += std::chrono::seconds(2);
    CHECK(screen.shown() == tagged(half, "[node-0:0] "));
    screen.write(1, half);
    screen.output.finish();
    CHECK(screen.sink.written[2].ends_with(tagged(half, "[node-0:1] ")));
    Screen endless;
    std::string lines = "Traceback (most recent call last):\n";
    for (int i = 0; i < 1000; ++i) {
        lines += "  File \"a\", line 1\n";
    }
    endless.write(0, lines);
    CHECK(endless.shown().size() > 8000);
}

} // namespace repeated_tracebacks_test
