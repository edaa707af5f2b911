#include "client/report/held_sink.hpp"

#include <doctest/doctest.h>

namespace held_sink_test {

using namespace dockdist;

namespace {

struct Recorded : OutputSink {
    void write(int fd, const Displayable& shown) override {
        text += std::to_string(fd) + std::string(shown.bytes());
    }
    std::string text{};
};

} // namespace

TEST_CASE("what is written during a question waits for its end, in its order") {
    Recorded output;
    HeldSink sink(output);
    sink.write(1, Displayable::text("a"));
    sink.hold(true);
    {
        const std::string gone = "b"; // before the question ends
        sink.write(2, Displayable::text(gone));
    }
    sink.write(1, Displayable::text("c"));
    CHECK(output.text == "1a");
    sink.hold(false);
    sink.write(1, Displayable::text("d"));
    CHECK(output.text == "1a2b1c1d");
}

} // namespace held_sink_test
