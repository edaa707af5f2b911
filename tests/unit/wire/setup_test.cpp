#include "shared/wire/setup.hpp"

#include <doctest/doctest.h>

namespace setup_test {

using namespace dockdist;
using namespace dockdist::wire;

TEST_CASE("a line of setup is read as it was written, bytes that are no text included") {
    const SetupLine line{.run = "echo \xff\n'x'",
                         .user = "ada",
                         .target = "/shared/a b",
                         .digest = std::string(setup_digest_size, 'a'),
                         .again = std::string(setup_digest_size, '0')};
    CHECK(parse_setup_line(to_text(line)).value() == line);
    for (const auto* text :
         {"", "[]", "{}", R"({"run":7})", R"({"run":"x","digest":"../x"})", R"({"run":"x","again":"a b"})"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_setup_line(text).has_value());
    }
}

TEST_CASE("what a node says of a line is a digest and one of two words") {
    for (const bool done : {true, false}) {
        const SetupState state{.digest = std::string(setup_digest_size, 'f'), .done = done};
        const auto text = to_text(state);
        CHECK(text.ends_with("\n"));
        CHECK(parse_setup_state(std::string_view(text).substr(0, text.size() - 1)).value() == state);
    }
    for (const auto& text : {std::string(), std::string(63, 'a') + " done", std::string(64, 'a'),
                             std::string(64, 'a') + " maybe", std::string(64, 'G') + " new"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_setup_state(text).has_value());
    }
}

} // namespace setup_test
