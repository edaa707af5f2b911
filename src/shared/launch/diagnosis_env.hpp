// What a job's processes are told so that it can be asked, when it hangs, why: where NCCL's RAS answers, and
// torch's flight recorder writes. Pure.
//
// Sources: NCCL's src/ras/ras.cc; torch/csrc/distributed/c10d/{FlightRecorder,ProcessGroupNCCL}.hpp of torch
// 2.6 to 2.15. torch has two names for some variables, and each version heeds other ones.
#pragma once

#include "shared/launch/launcher.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// The launcher's launches, with JobStart::env_defaults.
Result<std::vector<NodeLaunch>> launch_job(const Launcher& launcher, const LaunchRequest& request);

// The other name of a variable that has two; empty: it has none.
std::string_view other_spelling(std::string_view name);

} // namespace dockdist
