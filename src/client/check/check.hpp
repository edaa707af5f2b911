// Whether a multi-node job can run: every finding is a row with what to do about it.
#pragma once

#include "client/check/report/report.hpp"
#include "client/check/selection.hpp"
#include "client/observe/observe.hpp"
#include "client/report/event.hpp"
#include "client/spec/cluster_spec.hpp"

#include <chrono>
#include <optional>

namespace dockdist {

struct CheckOptions {
    bool deep = false; // also bandwidth and NCCL: minutes, and it uses the GPUs and the network
    std::optional<std::chrono::milliseconds> stage_timeout{}; // of NCCL's stages; else minutes, as each needs
};

// The quick layers take seconds, whatever the number of hosts.
Task<CheckReport> check_cluster(const ClusterSpec& spec, const Engines& engines, CheckSelection selection,
                                CheckOptions options, Reporter& reporter);

} // namespace dockdist
