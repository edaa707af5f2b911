// A cluster and its jobs at a glance, as the page that `dockdist page` serves. Pure.
#pragma once

#include "client/job/gpu_table.hpp"
#include "client/job/job_report.hpp"
#include "client/report/cell_table.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct ClusterPage {
    std::string cluster{};
    std::string time{};    // of what it shows, as people write it
    std::string version{}; // of dockdist
    int refresh_s = 0;
    CellTable nodes{};
    std::vector<std::string> notes{}; // sentences: who does not answer, what stands out
    GpuTables gpus{};
    std::vector<JobReport> jobs{}; // as list_jobs has them
};

// Those that run come first, then the latest. Each leads to "job/NAME".
std::string cluster_page(const ClusterPage& page);

} // namespace dockdist
