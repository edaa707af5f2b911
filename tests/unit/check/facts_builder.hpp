// Facts of nodes on which all is well, for tests that change one thing.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/report/report.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace dockdist::testing {

// A line of what SmiQuestion::gpus answers.
inline std::string gpu_line(const std::string& index_and_uuid, const std::string& model = "NVIDIA H100",
                            const std::string& memory_used = "1", const std::string& driver = "550.127.08",
                            const std::string& uncorrected = "0") {
    return index_and_uuid + ", " + model + ", " + memory_used + ", 81559, 0, 31, 69.52, " + driver +
           ", Disabled, " + uncorrected + "\n";
}

inline CheckedNode facts_of(int i) {
    CheckedNode facts;
    facts.name = NodeName("node-" + std::to_string(i));
    facts.host = HostName("node-" + std::to_string(i));
    facts.facts.limits =
        wire::SessionLimits{.memlock = -1, .nofile = 1048576, .stack = 64 << 20, .nproc = -1};
    facts.facts.system = wire::SystemFacts{.disk = wire::Room{Bytes{50ULL << 30U}, Bytes{100ULL << 30U}},
                                           .shm = wire::Room{Bytes{64ULL << 30U}, Bytes{64ULL << 30U}}};
    facts.facts.network = wire::NetworkFacts{
        .interface = "eth0", .there = true, .up = true, .address_there = true, .mtu = 1500};
    facts.facts.names = wire::NameFacts{.by = "getent", .hostname = facts.name.str()};
    facts.facts.programs.insert_or_assign("gpus", wire::ProgramOutput{0, gpu_line("0, GPU-aa")});
    facts.facts.programs.insert_or_assign("gpu-table",
                                          wire::ProgramOutput{0, "| CUDA Version: 12.4     |\n"});
    return facts;
}

// That know each other's names, and log in to each other.
inline std::vector<CheckedNode> cluster_facts(int count) {
    std::vector<CheckedNode> nodes;
    for (int i = 0; i < count; ++i) {
        nodes.push_back(facts_of(i));
        for (int j = 0; j < count; ++j) {
            const auto name = "node-" + std::to_string(j);
            nodes.back().facts.names->addresses[name] = {"10.0.0." + std::to_string(j + 1)};
            if (i != j) {
                nodes.back().peers.push_back(name);
                nodes.back().facts.logins->push_back({.peer = name, .ok = true, .ms = 10 * i + j});
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
