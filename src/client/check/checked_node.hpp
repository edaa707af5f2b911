// A node as a check sees it: what it told (shared/wire/check_facts.hpp), and who it is.
#pragma once

#include "shared/core/names.hpp"
#include "shared/wire/check_facts.hpp"

#include <map>
#include <string>
#include <vector>

namespace dockdist {

struct CheckedNode {
    NodeName name{};
    HostName host{};
    std::vector<std::string> peers{}; // the nodes that it was told to log in to
    wire::NodeFacts facts{};
    std::map<std::string, std::vector<std::string>> seen_tokens{}; // by folder: whose
};

// What a program that it was asked to run has said (FactsQuestion::programs).
Result<wire::ProgramOutput> output_of(const CheckedNode& node, const char* question);
std::string first_line(const std::string& output); // printable

} // namespace dockdist
