// How columns share a terminal's width: which are shown, and how wide. Pure.
#pragma once

#include <cstddef>
#include <vector>

namespace dockdist {

// What a column may do where the terminal is too narrow for all.
enum class Narrow {
    keep,   // nothing: it stays as it is, or is given up
    end,    // its cells are cut at the end: "deepspeed trai…"
    middle, // in the middle: "ssh://ops@…-128"
    wrap,   // its cells go on in further lines, or below the row: all, or one with a word that is wider
};

struct ColumnWidth {
    std::size_t natural = 0; // of the widest cell and the title
    Narrow narrow = Narrow::keep;
    int give_up = 0;       // 1 goes first, then 2 …; 0: never. What wraps goes below the row instead
    std::size_t least = 8; // what cutting or wrapping leaves of it
};

struct FittedColumn {
    enum class Place { row, below, nowhere };
    Place place = Place::row;
    std::size_t width = 0; // in its row
};

// Two spaces stand between columns. `columns` 0: no limit. What may be cut or wrapped is, the widest first;
// then columns are given up; then what wraps goes below the row. Where nothing of that is enough, all are
// cut, and the last ones vanish: no row is wider than `columns`.
std::vector<FittedColumn> fit_columns(const std::vector<ColumnWidth>& wanted, std::size_t columns);

} // namespace dockdist
