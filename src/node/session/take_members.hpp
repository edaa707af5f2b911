// The receiving end of a list of members that another node hands on: the session that its ssh asks for.
#pragma once

#include <string>

namespace dockdist::node {

// What the giver's ssh names as its command.
std::string take_members_command();

// Passes stdin to the node's join. 0: it has taken it, or none waits for it; 1: it has not.
int take_members();

} // namespace dockdist::node
