#include "client/plan/labels.hpp"
#include "client/plan/made_by.hpp"
#include "shared/wire/version.hpp"

#include <doctest/doctest.h>

#include <string>

namespace made_by_test {

using namespace dockdist;

namespace {

MadeBy of(const std::string& release, int wire) {
    return made_by({{labels::release, release}, {labels::wire, std::to_string(wire)}});
}

} // namespace

TEST_CASE("a node of this version, of the one next to it, and of others") {
    CHECK(understanding_of(of("0.2.0", wire::version)) == Understanding::all);
    CHECK(understanding_of(of("0.1.0", wire::version - 1)) == Understanding::of_jobs);
    CHECK(understanding_of(of("0.9.0", wire::version + 1)) == Understanding::of_jobs);
    CHECK(understanding_of(of("0.9.0", wire::version + 2)) == Understanding::nothing);
    for (const auto* odd : {"", "x", "-1", "0", "-2147483648", "2147483647", "99999999999999999999", "2 "}) {
        CHECK(understanding_of(made_by({{labels::wire, odd}})) == Understanding::nothing);
    }
}

TEST_CASE("a node without such labels is dockdist 0.1's") {
    const auto first = made_by({});
    CHECK(first.wire == wire::version_of_unlabelled);
    CHECK(made_by_another(first, "0.2.0") == "dockdist 0.1 made it, this is 0.2.0");
}

TEST_CASE("it is said which version a node has, and what to do") {
    const auto older = of("0.1.0", wire::version - 1);
    CHECK(other_words(older) ==
          "it is of dockdist 0.1.0 and speaks version " + std::to_string(wire::version - 1) +
              " of the protocol, this dockdist version " + std::to_string(wire::version));
    CHECK(bring_to_this_version(older) ==
          "`dockdist up` recreates it with this version; until then status, jobs, logs, attach, wait, stop "
          "and down work");
    CHECK(bring_to_this_version(of("0.9.0", wire::version + 2)) ==
          "use the dockdist that made it, or `dockdist up` recreates it with this version; until then only "
          "status and down work");
    CHECK(made_by_another(older, "0.2.0") == "dockdist 0.1.0 made it, this is 0.2.0");
    CHECK(made_by_another(of("0.2.0", wire::version), "0.2.0") == "another build of dockdist made it");
    CHECK(other_words(of("0.9.0", 0)) ==
          "it is of dockdist 0.9.0 and speaks an unknown version of the protocol, "
          "this dockdist version " +
              std::to_string(wire::version));
    CHECK(other_words(of("\x1b[2J" + std::string(100, 'x'), 1)).find('\x1b') == std::string::npos);
}

} // namespace made_by_test
