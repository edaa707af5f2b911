#include "report/table.hpp"

#include "core/host_list.hpp"
#include "core/number.hpp"
#include "report/display_text.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t widest_names = 40;
constexpr std::size_t widest_range = 24;

std::vector<std::string> distinct(const std::vector<std::string>& values) {
    std::set<std::string> seen;
    std::vector<std::string> kept;
    std::ranges::copy_if(values, std::back_inserter(kept),
                         [&](const std::string& value) { return seen.insert(value).second; });
    return kept;
}

std::string names_cell(const std::vector<std::string>& names) {
    const auto each = distinct(names);
    return each.size() == 1 ? each.front()
                            : short_host_list(each, widest_names) + " (" + std::to_string(each.size()) + ")";
}

// What cells that differ have in common.
std::string range_cell(const std::vector<std::string>& values) {
    const auto each = distinct(values);
    if (each.size() == 1) {
        return each.front();
    }
    std::vector<long> numbers;
    for (const auto& value : each) {
        if (const auto number = whole_number<long>(value)) {
            numbers.push_back(*number);
        }
    }
    if (numbers.size() == each.size()) {
        return std::to_string(std::ranges::min(numbers)) + " to " + std::to_string(std::ranges::max(numbers));
    }
    auto list = host_list(each);
    return list.size() <= widest_range && each.size() > 2 ? list : each.front() + ", …";
}

} // namespace

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

std::vector<std::vector<std::string>> Table::folded() const {
    std::vector<std::vector<const std::vector<std::string>*>> groups;
    std::map<std::vector<std::string>, std::size_t> known; // by the cells in which they have to agree
    for (const auto& row : rows_) {
        std::vector<std::string> same;
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (columns_[i].fold == Fold::same) {
                same.push_back(row[i]);
            }
        }
        const auto [at, fresh] = known.try_emplace(std::move(same), groups.size());
        if (fresh) {
            groups.emplace_back();
        }
        groups[at->second].push_back(&row);
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& group : groups) {
        auto& row = rows.emplace_back(*group.front());
        for (std::size_t i = 0; i < row.size(); ++i) {
            std::vector<std::string> values;
            for (const auto* each : group) {
                values.push_back((*each)[i]);
            }
            row[i] = columns_[i].fold == Fold::names ? names_cell(values)
                     : columns_[i].fold == Fold::any ? range_cell(values)
                                                     : row[i];
        }
    }
    return rows;
}

std::string Table::to_text(std::size_t most_rows) const {
    auto rows = rows_.size() > most_rows ? folded() : rows_;
    const auto hidden = rows.size() > most_rows ? rows.size() - most_rows : 0;
    rows.resize(rows.size() - hidden);
    std::vector<std::string> titles;
    std::vector<std::size_t> widths;
    for (const auto& column : columns_) {
        titles.push_back(column.title);
        widths.push_back(display_width(column.title));
    }
    for (const auto& row : rows) {
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
    std::ranges::for_each(rows, append);
    if (hidden > 0) {
        text += "… " + std::to_string(hidden) + " more rows: --all shows every one, -o json too\n";
    }
    return text;
}

} // namespace dockdist
