#include "report/held_sink.hpp"

#include <doctest/doctest.h>

namespace held_sink_test {

using namespace dockdist;

namespace {

struct Recorded : OutputSink {
    void write(int fd, std::string_view bytes) override { text += std::to_string(fd) + std::string(bytes); }
    std::string text{};
};

} // namespace

TEST_CASE("what is written during a question waits for its end, in its order") {
    Recorded output;
    HeldSink sink(output);
    sink.write(1, "a");
    sink.hold(true);
    sink.write(2, "b");
    sink.write(1, "c");
    CHECK(output.text == "1a");
    sink.hold(false);
    sink.write(1, "d");
    CHECK(output.text == "1a2b1c1d");
}

} // namespace held_sink_test
