// Aligned tables for people: columns by display width, two spaces between them, nothing at a line's end.
#pragma once

#include "client/report/output.hpp"
#include "client/report/table_widths.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

enum class Align { left, right };

// What a column means where rows that are alike become one.
enum class Fold {
    same,  // they are alike only where they agree here
    names, // whom the row is about: "node-[0-61] (62)"
    any,   // it may differ: "10.0.0.[1-62]", "31 to 45", else the first one's and "…"
};

struct Column {
    std::string title{};
    Align align = Align::left;
    Fold fold = Fold::same;
    Narrow narrow = Narrow::keep;
    int give_up = 0;       // where the terminal is too narrow: 1 goes first, then 2 …; 0: never
    std::size_t least = 8; // what cutting or wrapping leaves of it
    std::size_t most = 0;  // on any terminal, where it may be cut; 0: as wide as its cells
    std::string_view (*paint)(std::string_view cell) = nullptr; // the style of a cell; empty: none
};

// The style of a state's word: what is well, what is not, what is under way.
std::string_view state_style(std::string_view state);

class Table {
public:
    explicit Table(std::vector<Column> columns);

    // A cell too many is a bug; missing ones are empty. Cells and titles may hold foreign text.
    void add_row(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }

    // The titles (unless none has any letters) and the rows, each line with its newline. Of more than
    // `most_rows` those that are alike become one, at the first one's place, and what then is still too many
    // is counted. No line is wider than the terminal of `output`, where it is one, but for a word of a
    // Narrow::wrap that is; elsewhere nothing is cut.
    std::string to_text(std::size_t most_rows = std::numeric_limits<std::size_t>::max(),
                        const OutputTraits& output = no_terminal) const;

    // Of its widest line, where nothing is cut.
    std::size_t natural_width() const;

private:
    using Cells = std::vector<std::string>;

    Cells titles() const;
    std::vector<Cells> folded() const;
    std::vector<ColumnWidth> widths_of(const std::vector<Cells>& rows, bool limited) const;
    std::string row_text(const Cells& cells, const std::vector<FittedColumn>& fitted,
                         const OutputTraits& output, bool title) const;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace dockdist
