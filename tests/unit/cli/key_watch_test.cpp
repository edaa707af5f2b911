#include "client/cli/key_watch.hpp"

#include <doctest/doctest.h>

namespace key_watch_test {

using namespace dockdist;
using Heard = KeyLine::Heard;

TEST_CASE("a key counts alone on its line, and once Enter follows") {
    KeyLine line('d');
    CHECK(line.hear("d") == Heard::pressed);
    CHECK(line.hear("\n") == Heard::entered);
    CHECK(line.hear("\n") == Heard::nothing);
    CHECK(line.hear("d\r") == Heard::entered);
    CHECK(line.hear("x\x7f"
                    "d") == Heard::pressed);
    CHECK(line.hear("\b\n") == Heard::nothing);
    CHECK(line.hear("cd\x15"
                    "d") == Heard::pressed);
    CHECK(line.hear("\n") == Heard::entered);
}

TEST_CASE("what is typed ahead for the shell holds the key in vain") {
    for (const auto* const ahead : {"cd /tmp\n", "d /tmp\n", " d\n", "dd\n", "\x1b[Dd\n", "./d\n", "d \n"}) {
        KeyLine whole('d');
        CHECK_MESSAGE(whole.hear(ahead) == Heard::nothing, ahead);
        KeyLine slowly('d');
        for (const char c : std::string(ahead)) {
            CHECK_MESSAGE(slowly.hear({&c, 1}) != Heard::entered, ahead);
        }
        CHECK(slowly.hear("d\n") == Heard::entered); // the next line is another one
    }
}

} // namespace key_watch_test
