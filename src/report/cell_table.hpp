// Rows of cells, for the terminal and a page alike.
#pragma once

#include "report/table.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct CellTable {
    std::vector<Column> columns{};
    std::vector<std::vector<std::string>> rows{};
    bool empty() const { return rows.empty(); }
};

} // namespace dockdist
