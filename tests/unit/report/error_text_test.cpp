#include "client/report/error_text.hpp"

#include <doctest/doctest.h>

namespace error_text_test {

using namespace dockdist;

namespace {
constexpr OutputTraits pipe{};
constexpr OutputTraits unicode_pipe{.unicode = true};
constexpr OutputTraits terminal{.tty = true, .colour = true, .unicode = true};
const Error refused{.kind = ErrorKind::unreachable,
                    .where = "node-1 (tcp://10.0.0.2:2375)",
                    .message = "connection refused",
                    .hint = "start the engine there"};
} // namespace

TEST_CASE("an error tells where, what, and what to do next") {
    CHECK(error_text(refused, unicode_pipe) ==
          "error: node-1 (tcp://10.0.0.2:2375): connection refused\n  → start the engine there\n");
    CHECK(error_text(refused, pipe) ==
          "error: node-1 (tcp://10.0.0.2:2375): connection refused\n  -> start the engine there\n");
}

TEST_CASE("an error without place or hint is one line") {
    CHECK(error_text({.message = "no cluster.yaml here"}, pipe) == "error: no cluster.yaml here\n");
}

TEST_CASE("an error is coloured on a terminal") {
    CHECK(error_text({.message = "no"}, terminal) == "\x1b[1;31merror:\x1b[0m no\n");
}

TEST_CASE("a message of an engine cannot forge a line or move the cursor") {
    CHECK(error_text({.where = "a", .message = "bad\nerror: b: forged\x1b[2J\n"}, pipe) ==
          "error: a: bad\n    error: b: forged\\x1b[2J\n");
    CHECK(error_text({.where = "a\nb", .message = "bad"}, pipe) == "error: a\\x0ab: bad\n");
}

TEST_CASE("on a terminal an error goes on below, indented, and in its signs") {
    auto narrow = terminal;
    narrow.columns = 30;
    CHECK(error_text(refused, narrow) == "\x1b[1;31merror:\x1b[0m node-1\n"
                                         "    (tcp://10.0.0.2:2375):\n"
                                         "    connection refused\n"
                                         "  → start the engine there\n");
    CHECK(error_text({.message = "4 × 2", .hint = "a → b"}, {.columns = 30}) ==
          "error: 4 x 2\n  -> a -> b\n");
    CHECK(error_text({.message = "4 × 2", .hint = "a → b"}, pipe) == "error: 4 × 2\n  -> a → b\n");
}

TEST_CASE("a warning names its subject") {
    CHECK(warning_text("node-0", "old engine", pipe) == "warning: node-0: old engine\n");
    CHECK(warning_text("", "old file", terminal) == "\x1b[33mwarning:\x1b[0m old file\n");
}

} // namespace error_text_test
