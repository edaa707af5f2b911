// The first layer of check: what answers on a host, how far away it is, and whether its clock is right.
#pragma once

#include "client/check/report/report.hpp"
#include "client/container/container_engine.hpp"
#include "client/spec/cluster_spec.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

struct EngineFinding {
    std::vector<CheckRow> rows{};
    std::optional<EngineInfo> info{}; // empty: it did not answer
};

// A few round trips, side by side with other hosts'. Rows: "engine", one more for each thing that the engine
// cannot do or does in its own way, and "clock" where it tells its time.
Task<EngineFinding> check_engine(const ClusterSpec& spec, const HostSpec& host, ContainerEngine& engine);

// Pure. `ahead`: how far the host's clock is before this machine's; known to half a round trip.
CheckRow judge_clock(const std::string& subject, std::chrono::milliseconds ahead,
                     std::chrono::milliseconds round_trip);

// Pure: engines with known holes, as one row; one that passes where all are new enough; nothing of Podman,
// whose holes dockdist does not know.
std::vector<CheckRow> judge_security(const std::vector<std::pair<HostName, EngineInfo>>& engines);

} // namespace dockdist
