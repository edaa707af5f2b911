// Logins to nodes by the toolkit's ssh, as a launcher makes them.
#pragma once

#include "node/system/helper.hpp"
#include "shared/wire/check_facts.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

std::string own_node_name(); // empty before join

// Runs `command` there: at most 5 s until it is connected, 10 s in all.
Finished log_in(const std::string& node, const std::vector<std::string>& command);
std::string why(const Finished& login); // of one that failed, in one line

// A login to each, 16 at once. One that hung is missing.
Result<std::vector<wire::PeerLogin>> log_in_to_all(const std::vector<std::string>& peers);

Result<wire::LogInsQuestion::Answer> answer_logins(const wire::LogInsQuestion& question);

} // namespace dockdist::node
