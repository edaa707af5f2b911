// What a job has used, as one self-contained HTML page: how it ended, its figures, curves over the time by
// node and GPU, what stands out. Pure.
#pragma once

#include "client/job/job_report.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct JobPageFacts {
    std::string cluster{};
    std::string time{};                // when it was written, as people write it
    std::string version{};             // of dockdist
    std::vector<std::string> output{}; // its last lines; none: no word of them
    std::string way_back{};            // of a page that is served, as PageHead has them
    int refresh_s = 0;
};

std::string job_page(const JobReport& job, const std::vector<NodeHistory>& histories,
                     const JobPageFacts& facts);

} // namespace dockdist
