// Waits for peers: each one's sshd must answer with its banner before the node is ready.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/join.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace dockdist::node {

struct Unmet {
    Error error{}; // names every peer that was not reached, with the cause of the last attempt, and says what
                   // that usually means
    std::vector<wire::Unreached> peers{};
};

// Connects to all side by side, each again until it answers or the time is over. Nothing: all were met.
std::optional<Unmet> wait_for_peers(const std::vector<wire::NodeRecord>& peers, const wire::NodeRecord& self,
                                    std::int64_t timeout_ms);

} // namespace dockdist::node
