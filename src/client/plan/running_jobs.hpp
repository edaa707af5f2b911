// Jobs that run on nodes which something is about to end: whose they are, since when, where, with which GPUs.
#pragma once

#include "client/container/types.hpp"
#include "shared/core/error.hpp"
#include "shared/wire/gpus.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct RunningJob {
    struct Part {
        std::size_t host = 0; // index into ClusterSpec::hosts
        NodeName node{};
        ContainerId id{};
        std::vector<wire::GpuUnit> units{}; // that are its own there
        bool operator==(const Part&) const = default;
    };
    JobId job{};
    std::string owner{};       // USER@MACHINE; empty: an earlier dockdist started it
    std::int64_t age_ms = 0;   // of its oldest part, by that node's clock
    std::vector<Part> parts{}; // that run, in rank order
    bool operator==(const RunningJob&) const = default;
};

// What the nodes say. A node that runs and does not answer may have work on it like any other.
struct JobsThere {
    std::vector<RunningJob> jobs{};
    Errors silent{}; // one a node that did not say, where = its name
};

// "ada@desk's, running for 12 min on node-0 (GPU 0, 1), node-1 (GPU 0, 1)"
std::string to_text(const RunningJob& job);

// Why nothing is done (kind conflict): `what` would end the job, "`down` would end it".
Error would_end(const RunningJob& job, std::string_view what);
// One of JobsThere::silent: it cannot be asked.
Error paused_node(const NodeName& node);
// The same where nobody knows: `silence` is one of JobsThere::silent.
Error may_end_jobs(Error silence);
// --stop-jobs goes on without knowing: a warning.
Error goes_on_unasked(Error silence);

} // namespace dockdist
