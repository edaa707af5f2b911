// What people have been told of a running job.
#pragma once

#include "shared/job_state/job_state_machine.hpp"

#include <string>

namespace dockdist {

// Since the last time: "node-1: rank 3 exited with 7: …; …".
inline std::string told(JobStateMachine& job) {
    std::string all;
    for (const auto& notice : job.take_notices()) {
        all += (all.empty() ? "" : "; ") + (notice.node.empty() ? "" : notice.node + ": ") + notice.text;
    }
    return all;
}

} // namespace dockdist
