#include "shared/core/listening_sockets.hpp"

#include "shared/core/text.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace dockdist {
namespace {

struct TableRow {
    std::string state{}; // "0A" for a listening one
    std::string inode{}; // "0": no process has it
};

std::vector<TableRow> rows_of(std::string_view table, int port) {
    char wanted[8];
    std::snprintf(wanted, sizeof wanted, ":%04X", static_cast<unsigned>(port) & 0xFFFFU);
    std::vector<TableRow> rows;
    for (const auto& line : split(table, '\n')) {
        const auto fields = split_blanks(line);
        if (fields.size() > 9 && fields[1].ends_with(wanted)) {
            rows.push_back({.state = std::string(fields[3]), .inode = std::string(fields[9])});
        }
    }
    return rows;
}

} // namespace

std::set<std::string> listening_sockets(std::string_view table, int port) {
    std::set<std::string> sockets;
    for (const auto& row : rows_of(table, port)) {
        if (row.state == "0A") {
            sockets.insert("socket:[" + row.inode + "]");
        }
    }
    return sockets;
}

bool has_remains(std::string_view table, int port) {
    return std::ranges::any_of(rows_of(table, port), [](const TableRow& row) { return row.inode == "0"; });
}

} // namespace dockdist
