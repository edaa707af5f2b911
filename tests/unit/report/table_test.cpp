#include "report/table.hpp"
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

} // namespace table_test
