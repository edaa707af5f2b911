// Who has which GPU, and who waits for one: what `dockdist gpus` shows to people.
#pragma once

#include "client/observe/ask_gpus.hpp"
#include "client/report/cell_table.hpp"
#include "client/report/output.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace dockdist {

struct GpuTables {
    CellTable units{};                   // a row a GPU, and a row a slot that somebody has
    CellTable line{};                    // of those who wait
    std::vector<std::string> problems{}; // sentences
};
GpuTables gpu_tables(const std::vector<HostGpus>& hosts, const std::vector<std::string>& names);

// A row a GPU, with a MIG instance for one, then the line of those who wait. `names`: of all hosts, by index.
// A node without GPUs has its slots told where somebody has one. Of more than `most_rows` those that are
// alike become one.
std::string gpus_text(const std::vector<HostGpus>& hosts, const std::vector<std::string>& names,
                      const OutputTraits& output,
                      std::size_t most_rows = std::numeric_limits<std::size_t>::max());

} // namespace dockdist
