// Aligned tables for people: columns by display width, two spaces between them, nothing at a line's end.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
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
};

class Table {
public:
    explicit Table(std::vector<Column> columns);

    // A cell too many is a bug; missing ones are empty. Cells and titles may hold foreign text.
    void add_row(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }

    // The titles and the rows, each line with its newline. Of more than `most_rows` those that are alike
    // become one, at the first one's place, and what then is still too many is counted.
    std::string to_text(std::size_t most_rows = std::numeric_limits<std::size_t>::max()) const;

private:
    std::vector<std::vector<std::string>> folded() const;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace dockdist
