// The client's side of the key exchange (shared/wire/join.hpp): it carries public keys between nodes and sees
// no private one.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/plan/plan.hpp"
#include "client/report/event.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dockdist {

struct JoinTarget {
    ContainerEngine* engine = nullptr;
    ContainerId id{};
    wire::JoinRequest request{};
    // To the first process of a container that has been asked already; empty: the node runs, and is asked by
    // an exec.
    std::unique_ptr<ExecStream> attached{};
    wire::NodeSettings settings{};
    std::string machine{}; // the host's own name, as the engine tells it
    std::string where{};   // node and host, for messages
};

// What is written to the first process's stdin.
std::string join_line(const wire::JoinRequest& request);

struct JoinResult {
    std::vector<wire::NodeRecord> records{}; // in the order of the targets; meaningless when there are errors
    Errors errors{};
};

// Opens all nodes side by side, waits for every hello, tells every node the list's digest and the first ones
// the list, which those hand on (shared/wire/handed_on.hpp), and waits until every node is ready. A node that
// the list does not come to asks for it, and gets it here. The first barrier is why a node that fails before
// its hello stops the rest. No wait is longer than `hello_timeout` and `ready_timeout`.
Task<JoinResult> join_nodes(std::vector<JoinTarget> targets, std::string cluster,
                            std::chrono::milliseconds hello_timeout, std::chrono::milliseconds ready_timeout,
                            Reporter& reporter);

} // namespace dockdist
