#include "report/table.hpp"

#include "report/display_text.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace dockdist {

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
    for (auto& column : columns_) {
        column.title = safe_cell(column.title);
    }
}

void Table::add_row(std::vector<std::string> cells) {
    if (cells.size() > columns_.size()) {
        throw std::logic_error("a table row has more cells than the table has columns");
    }
    cells.resize(columns_.size());
    for (auto& cell : cells) {
        cell = safe_cell(cell);
    }
    rows_.push_back(std::move(cells));
}

std::string Table::to_text() const {
    std::vector<std::string> titles;
    std::vector<std::size_t> widths;
    for (const auto& column : columns_) {
        titles.push_back(column.title);
        widths.push_back(display_width(column.title));
    }
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            widths[i] = std::max(widths[i], display_width(row[i]));
        }
    }
    std::string text;
    const auto append = [&](const std::vector<std::string>& cells) {
        std::string line;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::string gap(widths[i] - display_width(cells[i]), ' ');
            line += i > 0 ? "  " : "";
            line += columns_[i].align == Align::right ? gap + cells[i] : cells[i] + gap;
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    };
    append(titles);
    std::ranges::for_each(rows_, append);
    return text;
}

} // namespace dockdist
