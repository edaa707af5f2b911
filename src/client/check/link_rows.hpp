// What to say about the paths between nodes. Pure.
#pragma once

#include "client/check/report/report.hpp"
#include "shared/wire/check_links.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// What one node found on its path to another.
struct PathAnswer {
    std::size_t from = 0, to = 0; // places in `nodes`
    wire::LinkOutcome outcome = wire::LinkOutcome::failed;
    std::string message{};
    std::optional<double> latency_us{};
};

// What node `from` answered to links-meet. A node that it was not asked about is left out.
std::vector<PathAnswer> paths_from(std::size_t from, const std::vector<wire::LinkMeeting>& meetings,
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
