#include "client/report/table.hpp"

#include "client/report/display_text.hpp"
#include "client/report/error_text.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t widest_names = 40;
constexpr std::size_t widest_range = 24;
constexpr std::string_view gap = "  ";

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

std::size_t widest_word(std::string_view text) {
    std::size_t widest = 0;
    for (const auto& word : split(text, ' ')) {
        widest = std::max(widest, display_width(word));
    }
    return widest;
}

// A cell that stands below its row. No word is broken there: a path or a command that is copied is whole.
std::string below_row(std::string_view cell, std::size_t indent, std::size_t columns) {
    std::string text;
    for (const auto& line : split(wrap_words(cell, std::max(columns, indent + 1) - indent, 0), '\n')) {
        text += std::string(indent, ' ') + line + '\n';
    }
    return text;
}

} // namespace

std::string_view state_style(std::string_view state) {
    static constexpr std::array good{"ready", "pass", "done", "running", "complete", "present"};
    static constexpr std::array bad{"FAIL", "fail", "failed", "unreachable", "lost", "dead", "exited"};
    static constexpr std::array odd{"warn",    "stopped", "absent",    "left over",
                                    "created", "paused",  "restarting"};
    const auto is = [state](const char* word) { // "stopped: lease" is stopped
        return state == word || state.starts_with(std::string(word) + ":");
    };
    return std::ranges::any_of(good, is)  ? style::green
           : std::ranges::any_of(bad, is) ? style::bold_red
           : std::ranges::any_of(odd, is) ? style::yellow
                                          : std::string_view();
}

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

std::vector<ColumnWidth> Table::widths_of(const std::vector<Cells>& rows, bool limited) const {
    std::vector<ColumnWidth> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const auto& column = columns_[i];
        ColumnWidth width{.narrow = column.narrow, .give_up = column.give_up, .least = column.least};
        for (const auto& row : rows) {
            width.natural = std::max(width.natural, display_width(row[i]));
        }
        if (limited && column.most > 0) {
            width.natural = std::min(width.natural, column.most);
        }
        widths.push_back(width);
    }
    return widths;
}

std::size_t Table::natural_width() const {
    auto rows = rows_;
    rows.push_back(titles());
    std::size_t width = 0;
    for (const auto& column : widths_of(rows, false)) {
        width += (width > 0 ? 2 : 0) + column.natural;
    }
    return width;
}

Table::Cells Table::titles() const {
    Cells titles;
    std::ranges::transform(columns_, std::back_inserter(titles), &Column::title);
    return titles;
}

// A row's first line, those that its wrapped cells go on in, and what stands below it.
std::string Table::row_text(const Cells& cells, const std::vector<FittedColumn>& fitted,
                            const OutputTraits& output, bool title) const {
    using Place = FittedColumn::Place;
    std::vector<std::vector<std::string>> lines(cells.size()); // of each cell
    std::size_t height = 1;
    std::string below;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto width = fitted[i].width;
        const auto& column = columns_[i];
        const bool too_narrow = column.narrow == Narrow::wrap && !title && widest_word(cells[i]) > width;
        if (fitted[i].place == Place::below || (fitted[i].place == Place::row && too_narrow)) {
            const auto indent = std::min(fitted.front().width + gap.size(), output.columns / 4);
            below += cells[i].empty() || title ? "" : below_row(cells[i], indent, output.columns);
            continue;
        }
        if (fitted[i].place != Place::row) {
            continue;
        }
        if (column.narrow == Narrow::wrap) {
            lines[i] = wrapped(cells[i], std::max<std::size_t>(width, 1));
        } else if (column.narrow == Narrow::middle && !title) {
            lines[i] = {clipped_middle(cells[i], width, output.unicode)};
        } else {
            lines[i] = {clipped(cells[i], width, output.unicode)};
        }
        height = std::max(height, lines[i].size());
    }
    std::string text;
    for (std::size_t at = 0; at < height; ++at) {
        std::string line;
        std::size_t owed = 0; // spaces, which stand only before something
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (fitted[i].place != Place::row) {
                continue;
            }
            const auto& column = columns_[i];
            const auto cell = at < lines[i].size() ? lines[i][at] : std::string();
            const auto space = fitted[i].width - std::min(fitted[i].width, display_width(cell));
            owed += column.align == Align::right ? space : 0;
            if (!cell.empty()) {
                const auto style = title           ? style::bold
                                   : !column.paint ? std::string_view()
                                                   : column.paint(cells[i]);
                line += std::string(owed, ' ') + styled(cell, style, output.colour && !style.empty());
                owed = 0;
            }
            owed += (column.align == Align::right ? 0 : space) + gap.size();
        }
        text += line.empty() && !below.empty() ? "" : line + '\n';
    }
    return text + below;
}

std::string Table::to_text(std::size_t most_rows, const OutputTraits& output) const {
    auto rows = rows_.size() > most_rows ? folded() : rows_;
    const auto hidden = rows.size() > most_rows ? rows.size() - most_rows : 0;
    rows.resize(rows.size() - hidden);
    const bool titled = std::ranges::any_of(columns_, [](const auto& each) { return !each.title.empty(); });
    if (titled) {
        rows.insert(rows.begin(), titles());
    }
    if (output.ascii_only()) {
        for (auto& row : rows) {
            std::ranges::transform(row, row.begin(), [](const auto& cell) { return ascii_signs(cell); });
        }
    }
    const auto fitted = fit_columns(widths_of(rows, output.columns > 0), output.columns);
    std::string text;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        text += row_text(rows[i], fitted, output, titled && i == 0);
    }
    if (hidden > 0) {
        const auto more = "… " + std::to_string(hidden) + " more rows: --all shows every one, -o json too\n";
        text += wrap_words(output.ascii_only() ? ascii_signs(more) : more, output.columns, 2);
    }
    return text;
}

} // namespace dockdist
