#include "node/system/last_words.hpp"
#include "node/system/os.hpp"

#include <doctest/doctest.h>

#include <string>

namespace last_words_test {

using namespace dockdist::node;
using dockdist::Fd;

namespace {

// Lets the loop read what is there.
void turn(Loop& loop) {
    loop.after(0, [&loop] { loop.stop(); });
    loop.run();
}

} // namespace

TEST_CASE("the last bytes of what a child wrote are kept") {
    Loop loop;
    LastWords words(loop, 8);
    auto pipe = make_pipe();
    REQUIRE(pipe.has_value());
    words.listen(std::move(pipe->read));
    REQUIRE(write_all(pipe->write.get(), "first and ").has_value());
    REQUIRE(write_all(pipe->write.get(), "the last").has_value());
    words.read_rest();
    CHECK(words.text() == "the last");
    words.read_rest(); // nothing more is there: it does not wait
    CHECK(words.text() == "the last");
}

TEST_CASE("a new child's words replace an earlier one's, and its end is no error") {
    Loop loop;
    LastWords words(loop, 100);
    auto first = make_pipe();
    auto second = make_pipe();
    REQUIRE(first.has_value());
    REQUIRE(second.has_value());
    REQUIRE(write_all(first->write.get(), "old").has_value());
    words.listen(std::move(first->read));
    words.read_rest();
    CHECK(words.text() == "old");
    words.listen(std::move(second->read));
    CHECK(words.text().empty());
    REQUIRE(write_all(second->write.get(), "new").has_value());
    second->write.reset();
    words.read_rest();
    words.read_rest(); // the end
    words.read_rest();
    CHECK(words.text() == "new");
}

TEST_CASE("the loop reads them as they come, and is asked no more once they are forgotten") {
    Loop loop;
    auto pipe = make_pipe();
    REQUIRE(pipe.has_value());
    {
        LastWords words(loop, 100);
        words.listen(std::move(pipe->read));
        REQUIRE(write_all(pipe->write.get(), "said").has_value());
        turn(loop);
        CHECK(words.text() == "said");
    }
    turn(loop);
    CHECK_FALSE(write_all(pipe->write.get(), "to nobody").has_value()); // the pipe is closed
}

} // namespace last_words_test
