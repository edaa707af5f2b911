#include "client/report/display_text.hpp"
#include "client/report/table.hpp"
#include "shared/core/text.hpp"
#include "support.hpp"

namespace table_test {

using namespace dockdist;

TEST_CASE("a table aligns by display width and leaves nothing at a line's end") {
    Table table({{"NODE"}, {"RANK", Align::right}, {"STATE"}, {"IMAGE"}});
    table.add_row({"node-0", "0", "ready", "pytorch/pytorch:2.6.0"});
    table.add_row({"größe-1", "10", "exited (137)"});
    table.add_row({"世界", "128", "", "x"});
    check_golden("report/table.txt", table.to_text());
}

TEST_CASE("a table's cells cannot move the cursor or break its lines") {
    Table table({{"NODE"}, {"STATE"}});
    table.add_row({"a\nb", "x\x1b[2J\ty"});
    CHECK(table.to_text() == "NODE    STATE\na\\x0ab  x\\x1b[2J y\n");
}

TEST_CASE("a table without rows is its titles") {
    const Table table({{"JOB"}, {"STATE"}});
    CHECK(table.empty());
    CHECK(table.to_text() == "JOB  STATE\n");
}

namespace {

// As `status` has it: two hosts that are not there, one with another interface.
Table farm(int nodes) {
    Table table({{"NODE", Align::left, Fold::names},
                 {"STATE"},
                 {"ADDRESS", Align::left, Fold::any},
                 {"IF"},
                 {"PORT", Align::right, Fold::any},
                 {"HOST", Align::left, Fold::any}});
    for (int i = 0; i < nodes; ++i) {
        const auto number = std::to_string(i);
        const bool there = i != 3 && i != 9;
        table.add_row({"node-" + number, there ? "ready" : "unreachable", there ? "10.0.0." + number : "-",
                       there ? (i == 5 ? "ib0" : "eth0") : "-", there ? std::to_string(2222 + i % 2) : "-",
                       "ssh://ops@gpu" + number + ":22"});
    }
    return table;
}

} // namespace

TEST_CASE("of too many rows those that are alike become one") {
    check_golden("report/table_folded.txt", farm(64).to_text(20));
    CHECK(farm(16).to_text(20) == farm(16).to_text());
    const auto large = farm(10'000).to_text(20);
    CHECK(std::ranges::count(large, '\n') == 4);
}

TEST_CASE("rows that are still too many are counted") {
    Table table({{"NODE", Align::left, Fold::names}, {"STATE"}});
    for (int i = 0; i < 100; ++i) {
        table.add_row({"n" + std::to_string(i), "state " + std::to_string(i / 2)});
    }
    const auto text = table.to_text(10);
    CHECK(std::ranges::count(text, '\n') == 12);
    CHECK(text.starts_with("NODE          STATE\nn[0-1] (2)    state 0\n"));
    CHECK(text.ends_with("… 40 more rows: --all shows every one, -o json too\n"));
}

namespace {

// As `status` and `check` have theirs: a row of many columns, one whose cells are sentences.
Table status() {
    Table table({{.title = "NODE", .narrow = Narrow::middle, .least = 12},
                 {.title = "STATE", .paint = state_style},
                 {.title = "ADDRESS", .give_up = 3},
                 {.title = "SLOTS", .align = Align::right, .give_up = 4},
                 {.title = "HOST", .narrow = Narrow::middle, .give_up = 2, .least = 16},
                 {.title = "CONTAINER", .give_up = 1}});
    table.add_row({"trainer-with-a-long-name-0", "ready", "10.0.0.1", "8", "ssh://ops@gpu-001.example:2222",
                   "3bf57800663b"});
    table.add_row({"größe-1", "unreachable", "-", "-", "ssh://ops@gpu-002.example:2222", ""});
    return table;
}

Table findings() {
    Table table({{.paint = state_style},
                 {.title = "WHERE", .narrow = Narrow::middle, .most = 20},
                 {.title = "CHECK"},
                 {.title = "FOUND", .narrow = Narrow::wrap, .least = 28}});
    table.add_row(
        {"pass", "node-0", "latency", "round trip 24 µs (median), slowest 24 µs from node-1 → node-0"});
    table.add_row({"warn", "a-host-with-a-rather-long-name", "access",
                   "jobs share the host's network and reach its engine, which asks for no key"});
    table.add_row({"FAIL", "node-1", "gpus", ""});
    return table;
}

} // namespace

TEST_CASE("a table gives up columns, shortens names and wraps sentences where the terminal is narrow") {
    std::string text;
    for (const std::size_t columns : {120U, 80U, 60U, 40U, 20U}) {
        for (const bool unicode : {true, false}) {
            const OutputTraits output{.unicode = unicode, .columns = columns};
            text += "--- " + std::to_string(columns) + (unicode ? "\n" : ", ASCII\n");
            text += status().to_text(100, output) + "\n" + findings().to_text(100, output);
        }
    }
    check_golden("report/table_widths.txt", text);
}

TEST_CASE("no row is wider than the terminal, however narrow, but for a single word") {
    for (std::size_t columns = 1; columns < 140; ++columns) {
        for (const bool unicode : {true, false}) {
            for (const auto& table : {status(), findings()}) {
                const auto text = table.to_text(100, {.unicode = unicode, .columns = columns});
                for (const auto& line : split(text, '\n')) {
                    const auto words = line.substr(std::min(line.find_first_not_of(' '), line.size()));
                    REQUIRE_MESSAGE((display_width(line) <= columns || words.find(' ') == std::string::npos),
                                    columns << ": " << line);
                }
            }
        }
    }
}

TEST_CASE("a cell with a word that is wider than its column stands below the row, and the word is whole") {
    Table table({{.title = ""}, {.title = "", .narrow = Narrow::wrap, .least = 10}});
    table.add_row({"state", "running, of four"});
    table.add_row({"command", "python /workspace/experiments/train.py --lr 0.1"});
    table.add_row({"owner", "ada"});
    CHECK(table.to_text(10, {.columns = 24}) == "state    running, of\n"
                                                "         four\n"
                                                "command\n"
                                                "      python\n"
                                                "      /workspace/experiments/train.py\n"
                                                "      --lr 0.1\n"
                                                "owner    ada\n");
    CHECK(table.to_text() == "state    running, of four\n"
                             "command  python /workspace/experiments/train.py --lr 0.1\n"
                             "owner    ada\n");
}

TEST_CASE("a pipe gets everything") {
    CHECK(status().to_text(100, {.unicode = false}) == status().to_text());
    CHECK(findings().to_text(100, {.unicode = true, .columns = 1000}).find("a-host-wit…long-name") !=
          std::string::npos);
    CHECK(findings().to_text().find("a-host-with-a-rather-long-name") != std::string::npos);
}

TEST_CASE("colours take no room, and say how a state is") {
    const OutputTraits plain{.unicode = true, .columns = 80};
    const OutputTraits colours{.tty = true, .colour = true, .unicode = true, .columns = 80};
    const auto text = findings().to_text(100, colours);
    CHECK(text.find("\x1b[32mpass\x1b[0m") != std::string::npos);
    CHECK(text.find("\x1b[33mwarn\x1b[0m") != std::string::npos);
    CHECK(text.find("\x1b[1;31mFAIL\x1b[0m") != std::string::npos);
    CHECK(safe_line(text.substr(0, text.find('\n')), Colours::drop) ==
          findings().to_text(100, plain).substr(0, text.find('\n') - 3 * 8)); // three titles in bold
    CHECK(state_style("stopped: lease") == state_style("stopped"));
    CHECK(state_style("whatever").empty());
}

TEST_CASE("a table without titles has no line for them") {
    Table table({{.title = ""}, {.title = "", .narrow = Narrow::wrap, .least = 10}});
    table.add_row({"--all", "A row for every node"});
    CHECK(table.to_text(10, {.columns = 20}) == "--all  A row for\n       every node\n");
}

} // namespace table_test
