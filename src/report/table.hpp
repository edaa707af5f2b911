// Aligned tables for people: columns by display width, two spaces between them, nothing at a line's end.
#pragma once

#include <string>
#include <vector>

namespace dockdist {

enum class Align { left, right };

struct Column {
    std::string title{};
    Align align = Align::left;
};

class Table {
public:
    explicit Table(std::vector<Column> columns);

    // A cell too many is a bug; missing ones are empty. Cells and titles may hold foreign text.
    void add_row(std::vector<std::string> cells);
    bool empty() const { return rows_.empty(); }

    // The titles and the rows, each line with its newline.
    std::string to_text() const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace dockdist
