// Logins to nodes by the toolkit's ssh, as a launcher makes them.
#pragma once

#include "node/system/process.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace dockdist::node {

std::string own_node_name(); // empty before join

// Runs `command` there: at most 5 s until it is connected, 10 s in all.
Finished log_in(const std::string& node, const std::vector<std::string>& command);
std::string why(const Finished& login); // of one that failed, in one line

// A login to each, 16 at once: [{"peer":"node-1","ok":true,"ms":84}, {"peer":"node-2","ok":false,"ms":12,
// "message":"Connection refused"}, …]
nlohmann::json log_in_to_all(const std::vector<std::string>& peers);

} // namespace dockdist::node
