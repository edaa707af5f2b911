// The client's side of the key exchange (wire/join.hpp): it carries public keys between nodes and sees no
// private one.
#pragma once

#include "container/container_engine.hpp"
#include "plan/plan.hpp"
#include "report/event.hpp"

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace dockdist {

struct JoinTarget {
    ContainerEngine* engine = nullptr;
    ContainerId id{};
    wire::JoinRequest request{};
    std::string machine{}; // the host's own name, as the engine tells it
    std::string where{};   // node and host, for messages
};

struct JoinResult {
    std::vector<wire::NodeRecord> records{}; // in the order of the targets; meaningless when there are errors
    Errors errors{};
};

// Opens all nodes side by side, waits for every hello, hands the list round, waits until every node is ready.
// The first barrier is why a node that fails before its hello stops the rest. No wait is longer than
// `hello_timeout` and `ready_timeout`.
Task<JoinResult> join_nodes(std::vector<JoinTarget> targets, std::string cluster,
                            std::chrono::milliseconds hello_timeout, std::chrono::milliseconds ready_timeout,
                            Reporter& reporter);

} // namespace dockdist
