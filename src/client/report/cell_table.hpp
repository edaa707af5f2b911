// Rows of cells, for the terminal and a page alike.
#pragma once

#include "client/report/table.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace dockdist {

struct CellTable {
    std::vector<Column> columns{};
    std::vector<std::vector<std::string>> rows{};
    bool empty() const { return rows.empty(); }
};

// As Table::to_text.
std::string table_text(const CellTable& cells,
                       std::size_t most_rows = std::numeric_limits<std::size_t>::max(),
                       const OutputTraits& output = no_terminal);

} // namespace dockdist
