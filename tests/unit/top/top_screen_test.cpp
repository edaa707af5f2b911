#include "client/report/display_text.hpp"
#include "client/top/top_json.hpp"
#include "client/top/top_screen.hpp"
#include "golden.hpp"
#include "top_scene.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace top_screen_test {

using namespace dockdist;

namespace {

constexpr OutputTraits plain{.tty = true, .unicode = true};

std::string joined(const TopScreen& screen) {
    std::string text;
    for (const auto& line : screen.lines) {
        text += line + "|\n"; // where each line ends is part of it
    }
    return text;
}

void check_screens(const std::string& name, const TopState& state, const OutputTraits& output = plain) {
    const auto model = scene_model();
    for (const std::size_t columns : {40U, 80U, 120U}) {
        const auto screen = top_screen(model, state, {.columns = columns, .rows = 24}, output);
        for (const auto& line : screen.lines) {
            CHECK(display_width(line) < columns);
        }
        CHECK(screen.lines.size() == 23);
        check_golden(fmt::format("top/{}-{}.txt", name, columns), joined(screen));
    }
}

} // namespace

TEST_CASE("the screens of all views at three widths") {
    check_screens("nodes", {.view = TopView::nodes});
    check_screens("gpus", {.view = TopView::gpus});
    check_screens("jobs", {.view = TopView::jobs});
    check_screens("ranks", {.view = TopView::ranks});
    check_screens("found", {.view = TopView::found});
}

TEST_CASE("the keys, in place of the rows") {
    check_screens("keys", {.keys = true});
}

TEST_CASE("the jobs with their owners, and those that wait") {
    auto model = scene_model();
    model.know({{.name = "llama-7b", .owner = "ada@desk", .for_ms = 4'000'000},
                {.name = "night of audio",
                 .owner = "bob@there",
                 .for_ms = 61'000,
                 .waits = "2 on node-0, place 1"}});
    check_golden("top/jobs-known-160.txt",
                 joined(top_screen(model, {.view = TopView::jobs}, {.columns = 160, .rows = 50}, plain)));
    check_golden("top/jobs-known-80.txt",
                 joined(top_screen(model, {.view = TopView::jobs}, {.columns = 80, .rows = 24}, plain)));
    auto of_one = scene_model("llama-7b");
    of_one.know(model.jobs());
    CHECK(joined(top_screen(of_one, {.view = TopView::jobs}, {.columns = 160, .rows = 50}, plain))
              .find("night of audio") == std::string::npos);
}

TEST_CASE("colours stand for load, heat and trouble") {
    check_screens("colour", {.view = TopView::gpus}, {.tty = true, .colour = true, .unicode = true});
}

TEST_CASE("without UTF-8 there is ASCII alone") {
    const OutputTraits ascii{.tty = true};
    check_screens("ascii", {.view = TopView::gpus}, ascii);
    for (const auto view : top_views) {
        for (const auto& line :
             top_screen(scene_model(), {.view = view}, {.columns = 100, .rows = 30}, ascii).lines) {
            CHECK_MESSAGE(is_plain_ascii(line), line);
        }
    }
}

TEST_CASE("sorted by a column, inverted, and filtered") {
    TopState state{.view = TopView::gpus, .filter = "node-1"};
    state.sort_title() = "W";
    const auto screen = top_screen(scene_model(), state, {.columns = 100, .rows = 24}, plain);
    check_golden("top/sorted.txt", joined(screen));
    CHECK(screen.sort_columns.front() == "NODE");
    state.filter = "no such words";
    CHECK(top_screen(scene_model(), state, {.columns = 100, .rows = 24}, plain).lines[2] ==
          "nothing contains these words (Esc: show all)");
}

TEST_CASE("64 nodes are scrolled through, and a scroll too far ends at the last page") {
    std::vector<std::string> names;
    for (int i = 0; i < 64; ++i) {
        names.push_back(fmt::format("node-{}", i));
    }
    TopModel model("big", names);
    for (std::size_t i = 0; i < 64; ++i) {
        for (int second = 1; second <= 2; ++second) {
            model.hear(i, scene_facts(8), scene_sample(static_cast<int>(i), 8, second));
        }
    }
    CHECK(model.complete());
    const auto far = top_screen(model, {.view = TopView::gpus, .first = most_first_row},
                                {.columns = 80, .rows = 24}, plain);
    CHECK(far.first == 512 - far.page);
    CHECK(far.lines[1].ends_with(fmt::format("{}-512 of 512", far.first + 1)));
    bool last = false;
    for (const auto& line : far.lines) {
        last = last || line.starts_with("node-63    7");
    }
    CHECK(last);
}

TEST_CASE("what finds no room below a table has a view of its own, which scrolls") {
    const auto model = scene_model();
    TopState state{.view = TopView::nodes};
    const TerminalSize narrow{.columns = 40, .rows = 12};
    const auto last = [&](const TopScreen& screen) { return screen.lines[screen.lines.size() - 2]; };
    CHECK(last(top_screen(model, state, narrow, plain)) == "! 4 more: f");
    press(state, {.character = 'f'}, {}, 1);
    auto screen = top_screen(model, state, narrow, plain);
    std::string seen = joined(screen);
    CHECK(screen.sort_columns.empty());
    CHECK(seen.find("node-1: / has") == std::string::npos);
    state.first = most_first_row;
    screen = top_screen(model, state, narrow, plain);
    CHECK(joined(screen).find("node-1: / has 15.0 GiB left") != std::string::npos);
    CHECK(screen.lines.back().starts_with("q quit"));
    const TopModel calm("c", {});
    CHECK(top_screen(calm, state, narrow, plain).lines[2] == "nothing stands out");
}

TEST_CASE("no terminal is too small") {
    const auto model = scene_model();
    for (const std::size_t columns : {1U, 2U, 3U, 10U, 39U}) {
        for (const std::size_t rows : {1U, 2U, 3U, 5U, 8U}) {
            for (const auto view : top_views) {
                const auto screen =
                    top_screen(model, {.view = view}, {.columns = columns, .rows = rows}, plain);
                CHECK(screen.lines.size() == std::max<std::size_t>(rows - 1, 1));
                for (const auto& line : screen.lines) {
                    CHECK(display_width(line) <= std::max<std::size_t>(columns - 1, 1));
                }
            }
        }
    }
}

TEST_CASE("a node's words cannot draw on the terminal") {
    TopModel model("c", {"node-0"});
    auto sample = scene_sample(0, 1, 1, "\x1b[2Jjob");
    model.hear(0, scene_facts(1), sample);
    for (const auto view : top_views) {
        CHECK(joined(top_screen(model, {.view = view}, {.columns = 80, .rows = 24}, plain)).find('\x1b') ==
              std::string::npos);
    }
    model.lose(0, "\x1b]0;title\x07");
    CHECK(joined(top_screen(model, {}, {.columns = 80, .rows = 24}, plain)).find('\x1b') ==
          std::string::npos);
}

TEST_CASE("a node that comes back has its row again, and its rates after two samples") {
    TopModel model("c", {"node-0"});
    model.hear(0, scene_facts(2), scene_sample(0, 2, 1));
    CHECK_FALSE(model.complete());
    model.lose(0, "gone");
    CHECK(model.complete());
    CHECK(top_text(model, TopView::nodes, no_terminal).find("gone") != std::string::npos);
    model.hear(0, scene_facts(2), scene_sample(0, 2, 5));
    CHECK(top_text(model, TopView::nodes, no_terminal).find("gone") == std::string::npos);
    CHECK_FALSE(model.nodes()[0].rates.cpu_share);
    model.hear(0, scene_facts(2), scene_sample(0, 2, 6));
    CHECK(model.nodes()[0].rates.cpu_share);
    CHECK(model.complete());
}

TEST_CASE("out of a terminal: whole tables, and what is to be said") {
    std::string text;
    for (const auto view : top_views) {
        text += top_text(scene_model(), view, no_terminal) + "----\n";
    }
    check_golden("top/tables.txt", text);
    CHECK(top_text(scene_model("other"), TopView::ranks, no_terminal).starts_with("the job does not run\n"));
}

TEST_CASE("of one job there are its own GPUs alone, and what is found of these") {
    TopModel model("c", {"node-0"}, "mine");
    for (int second = 1; second <= 75; ++second) {
        auto sample = scene_sample(0, 4, second);
        sample.ranks.resize(2);
        sample.ranks[1].job = "mine";
        model.hear(0, scene_facts(4), sample); // GPU 3 waits
    }
    const auto& node = model.nodes()[0];
    REQUIRE(node.facts.gpus.size() == 1);
    CHECK(node.facts.gpus[0].index == 1);
    CHECK(node.sample.gpus.size() == 1);
    CHECK(model.findings().empty());
    CHECK(top_screen(model, {}, {.columns = 80, .rows = 24}, plain).lines[0].find(" 1 GPU ") !=
          std::string::npos);
    CHECK(top_text(model, TopView::gpus, no_terminal).find("520/700") != std::string::npos);
}

TEST_CASE("a round as JSON") {
    check_golden("top/round.json", top_json(scene_model()).dump(1) + "\n");
}

TEST_CASE("what a narrow terminal gives up is scrolled to, and whose row it is stays") {
    const auto model = scene_model();
    const TerminalSize size{.columns = 80, .rows = 24};
    CHECK(joined(top_screen(model, {}, size, plain)).find("DISK") == std::string::npos);
    const auto screen = top_screen(model, {.skipped = 9}, size, plain);
    CHECK(screen.skipped == 9);
    CHECK(screen.lines[1].ends_with("  from NET IN"));
    CHECK(screen.lines[2] == "NODE    NET IN  NET OUT  READ  WRITE  DISK  STATE");
    CHECK(screen.lines[4].starts_with("node-1    1.1G     1.0G  1.0M   256M  98 %"));
    const auto far = top_screen(model, {.view = TopView::gpus, .skipped = 100}, size, plain);
    CHECK(far.skipped == 9);
    CHECK(far.lines[2] == "NODE    GPU  STATE");
}

TEST_CASE("a history's graph has the latest at its right") {
    CHECK(history_graph({0.0, 0.5, std::nullopt, 1.0}, true) == "▁▄ █");
    CHECK(history_graph({0.5, 1.0}, false) == "-#");
    CHECK(history_graph({}, true).empty());
}

TEST_CASE("a history's points are the means of samples that stay together") {
    History history;
    CHECK(history.in_columns(3) == HistoryPoints(3));
    CHECK(history.in_columns(0).empty());
    for (int i = 0; i < 25; ++i) {
        history.add(i < 20 ? std::optional(0.5) : std::nullopt);
    }
    CHECK(history.in_columns(6) == HistoryPoints{{}, {}, {}, 0.5, 0.5, std::nullopt}); // of 10 each
    history.add(1.0);
    CHECK(history.in_columns(6) == HistoryPoints{{}, {}, {}, 0.5, 0.5, 1.0});
    for (int i = 26; i < 95; ++i) {
        history.add(0.0);
    }
    CHECK(history.in_columns(6) == HistoryPoints(6, 0.0)); // from 40 on
}

} // namespace top_screen_test
