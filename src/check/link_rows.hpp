// What to say about the paths between nodes. Pure.
#pragma once

#include "check/report/report.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dockdist {

// What one node found on its path to another (node/check/links.hpp).
struct PathAnswer {
    std::size_t from = 0, to = 0; // places in `nodes`
    std::string outcome{};        // a word of LinkOutcome
    std::string message{};
    std::optional<double> latency_us{};
};

// The answer of node `from` to links-meet. What is not of its shape, or of a node that was not asked for, is
// left out.
std::vector<PathAnswer> read_paths(const nlohmann::json& answer, std::size_t from,
                                   const std::vector<NodeName>& nodes);

// Rows of ports, path-mtu and latency. A node that none reaches, or that reaches none, is one row.
std::vector<CheckRow> judge_paths(const std::vector<NodeName>& nodes, const std::vector<PathAnswer>& paths);

struct PathBandwidth {
    std::size_t from = 0, to = 0;
    double bytes_per_second = 0;
    std::uint64_t segments = 0, sent_again = 0;
    std::string problem{}; // why it was not measured
};
std::vector<CheckRow> judge_bandwidths(const std::vector<NodeName>& nodes,
                                       const std::vector<PathBandwidth>& paths);
// Which of them are slow, in their order; what the rows say.
std::vector<bool> slow_paths(std::size_t nodes, const std::vector<PathBandwidth>& paths);

// "9.41 Gbit/s", "94.1 Mbit/s".
std::string format_bandwidth(double bytes_per_second);

} // namespace dockdist
