// The jobs of all clusters on hosts, as these hosts' boards tell of them: those that hold GPUs or slots, or
// wait for some.
#pragma once

#include "client/observe/ask_gpus.hpp"
#include "client/report/output.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

struct HostJob {
    wire::GpuParty who{};
    std::vector<wire::GpuUnit> units{}; // held; none: it waits
    int wanted = 0;                     // waiting: how many
    int priority = 0;
    int place = 0; // in line, from 1
};
// Those that hold first, in the order of what they hold.
std::vector<HostJob> jobs_on_host(const HostGpus& host);

// `names`: of all hosts, by index. Of more than `most_rows` those that are alike become one.
std::string host_jobs_text(const std::vector<HostGpus>& hosts, const std::vector<std::string>& names,
                           const OutputTraits& output, std::size_t most_rows);

} // namespace dockdist
