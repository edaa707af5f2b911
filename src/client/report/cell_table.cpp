#include "client/report/cell_table.hpp"

namespace dockdist {

std::string table_text(const CellTable& cells, std::size_t most_rows, const OutputTraits& output) {
    Table table(cells.columns);
    for (const auto& row : cells.rows) {
        table.add_row(row);
    }
    return table.to_text(most_rows, output);
}

} // namespace dockdist
