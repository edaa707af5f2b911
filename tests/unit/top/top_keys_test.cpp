#include "client/top/top_keys.hpp"

#include <doctest/doctest.h>

namespace top_keys_test {

using namespace dockdist;
using Kind = TopKey::Kind;

namespace {

std::vector<TopKey> keys(std::initializer_list<std::string_view> pieces) {
    TopKeyReader reader;
    std::vector<TopKey> all;
    for (const auto piece : pieces) {
        const auto read = reader.read(piece);
        all.insert(all.end(), read.begin(), read.end());
    }
    return all;
}

TopState after(std::string_view typed, TopState state = {}) {
    TopKeyReader reader;
    for (const auto& key : reader.read(typed)) {
        press(state, key, {"NODE", "GPU"}, 10);
    }
    return state;
}

} // namespace

TEST_CASE("keys are read out of a terminal's bytes, however these come") {
    CHECK(keys({"q"}) == std::vector<TopKey>{{.character = 'q'}});
    CHECK(keys({"\x1b[A\x1bOB\x1b[5~"}) ==
          std::vector<TopKey>{{.kind = Kind::up}, {.kind = Kind::down}, {.kind = Kind::page_up}});
    CHECK(keys({"\x1b[", "6", "~x"}) == std::vector<TopKey>{{.kind = Kind::page_down}, {.character = 'x'}});
    CHECK(keys({"\x1b"}) == std::vector<TopKey>{{.kind = Kind::escape}});
    CHECK(keys({"\x1b[Z\t\r\x7f"}) == std::vector<TopKey>{{.kind = Kind::back_tab},
                                                          {.kind = Kind::tab},
                                                          {.kind = Kind::enter},
                                                          {.kind = Kind::backspace}});
}

TEST_CASE("what is no key is passed over") {
    CHECK(keys({"\x1b[99;5u", "\x01\xff\xc3\xa4"}).empty());
    CHECK(keys({"\x1b[1111111111111111111111111111q"}).size() < 20);
}

TEST_CASE("views by their letters and by Tab") {
    CHECK(after("g").view == TopView::gpus);
    CHECK(after("j").view == TopView::jobs);
    CHECK(after("r").view == TopView::ranks);
    CHECK(after("rn").view == TopView::nodes);
    CHECK(after("\t\t").view == TopView::jobs);
    CHECK(after("f").view == TopView::found);
    CHECK(after("\t\t\t\t\t").view == TopView::nodes);
    CHECK(after("\x1b[Z").view == TopView::found);
    CHECK(after("q").over);
}

TEST_CASE("the column to sort by goes around, in each view for itself") {
    CHECK(after("s").sort_title() == "NODE");
    CHECK(after("ss").sort_title() == "GPU");
    CHECK(after("sss").sort_title().empty());
    CHECK(after("S").sort_title() == "GPU");
    CHECK(after("sg").sort_title().empty());
    CHECK(after("sgn").sort_title() == "NODE");
    CHECK(after("i").inverted);
    CHECK_FALSE(after("ii").inverted);
}

TEST_CASE("a filter is typed, kept or dropped, and letters are no commands meanwhile") {
    const auto typing = after("/qn");
    CHECK(typing.typing);
    CHECK(typing.filter == "qn");
    CHECK_FALSE(typing.over);
    CHECK(after("/ab\x7f\r").filter == "a");
    CHECK_FALSE(after("/ab\r").typing);
    CHECK(after("/ab\x1b").filter.empty());
    CHECK(after("/ab\r\x1b").filter.empty());
    CHECK(after("/" + std::string(500, 'a')).filter.size() == 64);
}

TEST_CASE("the keys are shown until the next one, which does nothing else but to quit") {
    CHECK(after("?").keys);
    CHECK_FALSE(after("??").keys);
    CHECK(after("?g").view == TopView::nodes);
    CHECK(after("?q").over);
    CHECK(after("/?").filter == "?");
}

TEST_CASE("scrolling stops at the top, and knows the page") {
    CHECK(after("\x1b[B\x1b[B\x1b[A").first == 1);
    CHECK(after("\x1b[A").first == 0);
    CHECK(after("\x1b[6~").first == 10);
    CHECK(after(" ").first == 10);
    CHECK(after("\x1b[6~\x1b[5~\x1b[5~").first == 0);
    CHECK(after("\x1b[F").first == most_first_row);
    CHECK(after("\x1b[F\x1b[H").first == 0);
    CHECK(after("\x1b[6~g").first == 0); // another view begins at its top
    CHECK(after("\x1b[C\x1bOC\x1b[D").skipped == 1);
    CHECK(after("\x1b[D").skipped == 0);
    CHECK(after("\x1b[Cg").skipped == 0);
}

} // namespace top_keys_test
