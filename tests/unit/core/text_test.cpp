#include "core/text.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace dockdist;

TEST_CASE("shell_quote leaves plain words bare and quotes the rest") {
    CHECK(shell_quote("train.py") == "train.py");
    CHECK(shell_quote("") == "''");
    CHECK(shell_quote("a b") == "'a b'");
    CHECK(shell_quote("$(touch /pwn)") == "'$(touch /pwn)'");
    CHECK(shell_quote("it's") == "'it'\\''s'");
}

TEST_CASE("is_plain_name refuses what an engine or a hostfile would misread") {
    CHECK(is_plain_name("node-0"));
    CHECK(is_plain_name("gpu1.rack2"));
    CHECK_FALSE(is_plain_name(""));
    CHECK_FALSE(is_plain_name("-a"));
    CHECK_FALSE(is_plain_name("a..b"));
    CHECK_FALSE(is_plain_name("a\nb"));
    CHECK_FALSE(is_plain_name("A"));
    CHECK_FALSE(is_plain_name(std::string(64, 'a')));
}

TEST_CASE("nearest names the word that was meant, and nothing when none is near") {
    constexpr std::array<std::string_view, 3> keys{"shm_size", "ulimits", "mounts"};
    CHECK(nearest("shmsize", keys) == "shm_size");
    CHECK(nearest("ulimit", keys) == "ulimits");
    CHECK(nearest("banana", keys).empty());
}

TEST_CASE("printable shows control bytes instead of obeying them") {
    CHECK(printable("a\x1b[2Jb") == "a\\x1b[2Jb");
    CHECK(printable("tab\there") == "tab\there");
    CHECK(printable("\xC2\x9B") == "\\x9b");
    CHECK(printable("grün") == "grün");
}
