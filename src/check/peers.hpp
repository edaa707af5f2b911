// What `dockdist-init check-peers` tells about the way from one node to the others: a JSON line a peer,
// {"peer":"node-1","ok":true,"ms":84} or {"peer":"node-2","ok":false,"message":"Connection refused"}.
#pragma once

#include "check/report.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct PeerAnswer {
    std::string peer{};
    bool ok = false;
    int ms = 0;
    std::string message{};
};

// Lines that are not of this shape are left out.
std::vector<PeerAnswer> parse_peers(std::string_view lines);

// Fills in the state, the text and the hint.
void judge_peers(const std::vector<PeerAnswer>& peers, CheckRow& row);

} // namespace dockdist
