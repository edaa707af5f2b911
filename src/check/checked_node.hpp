// A node as a check sees it: what it told (wire/check_facts.hpp), and who it is.
#pragma once

#include "core/names.hpp"
#include "wire/check_facts.hpp"

#include <map>
#include <string>
#include <vector>

namespace dockdist {

struct CheckedNode {
    NodeName name{};
    HostName host{};
    wire::NodeFacts facts{};
    std::map<std::string, std::vector<std::string>> seen_tokens{}; // by folder: whose
};

} // namespace dockdist
