// Facts of nodes on which all is well, for tests that change one thing.
#pragma once

#include "check/node_facts.hpp"
#include "check/report/report.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace dockdist::testing {

inline constexpr const char* one_h100 = "0, GPU-aa, NVIDIA H100, 1, 81559, 0, 31, 69.52, 550.127.08\n";

inline NodeFacts facts_of(int i) {
    NodeFacts facts;
    facts.node = NodeName("node-" + std::to_string(i));
    facts.host = HostName("node-" + std::to_string(i));
    facts.limits = SessionLimits{.memlock = -1, .nofile = 1048576, .stack = 64 << 20, .nproc = -1};
    facts.system = SystemFacts{.disk = Room{Bytes{50ULL << 30U}, Bytes{100ULL << 30U}},
                               .shm = Room{Bytes{64ULL << 30U}, Bytes{64ULL << 30U}}};
    facts.network =
        NetworkFacts{.interface = "eth0", .there = true, .up = true, .address_there = true, .mtu = 1500};
    facts.names = NameFacts{.by = "getent", .hostname = facts.node.str()};
    facts.programs.insert_or_assign("gpus", ProgramOutput{0, one_h100});
    facts.programs.insert_or_assign("gpu-table", ProgramOutput{0, "| CUDA Version: 12.4     |\n"});
    return facts;
}

// That know each other's names, and log in to each other.
inline std::vector<NodeFacts> cluster_facts(int count) {
    std::vector<NodeFacts> nodes;
    for (int i = 0; i < count; ++i) {
        nodes.push_back(facts_of(i));
        for (int j = 0; j < count; ++j) {
            const auto name = "node-" + std::to_string(j);
            nodes.back().names->addresses[name] = {"10.0.0." + std::to_string(j + 1)};
            if (i != j) {
                nodes.back().logins->push_back({.peer = name, .ok = true, .ms = 10 * i + j});
            }
        }
    }
    return nodes;
}

inline std::vector<CheckRow> rows_of(const std::vector<CheckRow>& rows, const std::string& check) {
    std::vector<CheckRow> found;
    std::ranges::copy_if(rows, std::back_inserter(found),
                         [&](const CheckRow& row) { return row.check == check; });
    return found;
}

} // namespace dockdist::testing
