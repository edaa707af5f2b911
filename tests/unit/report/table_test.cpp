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

} // namespace table_test
