// Whether every node logs in to every other.
#pragma once

#include "check/report/report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace dockdist {

struct NodeFacts;

// One login from a node to another: {"peer":"node-1","ok":true,"ms":84}, or with "ok":false and a "message".
struct PeerAnswer {
    std::string peer{};
    bool ok = false;
    int ms = 0;
    std::string message{};
};

// Entries that are not of this shape are left out.
std::vector<PeerAnswer> parse_peers(const nlohmann::json& list);

// One row when all is well. A node that several others do not get into has one row for all of them.
std::vector<CheckRow> judge_logins(const std::vector<NodeFacts>& nodes);

} // namespace dockdist
