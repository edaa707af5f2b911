#include "core/listening_sockets.hpp"

#include "core/text.hpp"

#include <cstdio>
#include <vector>

namespace dockdist {

// State 0A is a listening one; the tenth field is the socket's inode.
std::set<std::string> listening_sockets(std::string_view table, int port) {
    char wanted[8];
    std::snprintf(wanted, sizeof wanted, ":%04X", static_cast<unsigned>(port) & 0xFFFFU);
    std::set<std::string> sockets;
    for (const auto& line : split(table, '\n')) {
        std::vector<std::string> fields;
        for (auto& word : split(line, ' ')) {
            if (!word.empty()) {
                fields.push_back(std::move(word));
            }
        }
        if (fields.size() > 9 && fields[1].ends_with(wanted) && fields[3] == "0A") {
            sockets.insert("socket:[" + fields[9] + "]");
        }
    }
    return sockets;
}

} // namespace dockdist
