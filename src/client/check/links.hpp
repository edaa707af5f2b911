// The paths between the nodes of a check: every node meets every other one on a rendezvous port, and for a
// deep check the bandwidth of every pair is measured.
#pragma once

#include "client/check/link_rows.hpp"
#include "client/check/node_session.hpp"
#include "client/check/partners.hpp"
#include "client/check/report/report.hpp"
#include "client/report/event.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dockdist {

class Links {
public:
    // `sessions` stand in the order of CheckReport::nodes; null where a node has none. They outlive this.
    explicit Links(std::vector<NodeSession*> sessions);

    // Two questions a node, all side by side; each meets quick_peers, or, in rounds, every other. Adds rows
    // and CheckReport::links.
    Task<void> meet(CheckReport& report, bool every_other);
    // After meet(): rounds of disjoint pairs, two seconds each. Fills in the links' bandwidths, adds rows.
    Task<void> measure(Reporter& reporter, CheckReport& report);

private:
    Task<void> meet_round(const PeerRound& round, std::vector<PathAnswer>& paths, CheckReport& report);
    Task<bool> listen(std::size_t node, CheckReport& report);

    std::vector<NodeSession*> sessions_;
    std::string token_;
    std::vector<std::optional<int>> ports_{}; // of the nodes that listen
};

} // namespace dockdist
