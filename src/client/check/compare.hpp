// Rows about many nodes that stay few: what is the same everywhere is one row, what differs names the odd
// one.
#pragma once

#include "client/check/report/report.hpp"
#include "shared/core/host_list.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dockdist {

struct OddOnes {
    std::string common{};                   // what most have; on a tie, the first
    std::vector<std::string> with_common{}; // who
    std::vector<std::pair<std::string, std::vector<std::string>>> others{}; // value, and who has it
};
// `values`: who, and what they have.
OddOnes find_odd(const std::vector<std::pair<std::string, std::string>>& values);

// "driver 535.1, and node-0, node-1 have 550.2": one row for each other value, its subject the odd ones.
std::vector<CheckRow> odd_rows(const OddOnes& odd, const CheckRow& model, const std::string& prefix = "");

// Rows of equal layer, check, state, text and hint become one, at the first one's place. Its subject: "all
// hosts" in the engines' layer, "all nodes" in the others, where it is all of those; else their names.
std::vector<CheckRow> merge_rows(std::vector<CheckRow> rows, const std::vector<std::string>& hosts,
                                 const std::vector<std::string>& nodes);

} // namespace dockdist
