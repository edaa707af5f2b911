// What dockdist asks of nvidia-smi: all of it. Whoever runs it takes the words from here, so that a real one
// can be asked every question (scripts/gpu-day).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// With who reads the answer.
enum class SmiQuestion {
    gpus,     // parse_gpus and lost_gpus (shared/gpu/gpu.hpp): one call for all of it. Drivers from R450 on
              // (2020, the first with MIG) know these fields
    listing,  // parse_mig and count_listed_gpus
    topology, // parse_topology (shared/gpu/topology.hpp)
    table,    // parse_cuda_version
    log,      // parse_fabric (shared/gpu/fabric.hpp): of the first GPU
    remapped_rows, // client/check/gpu_health.cpp
    processes,     // the same
    figures,     // parse_gpu_figures; gpu_figures_command (shared/gpu/gpu_figures.hpp) makes it go on and on
    old_figures, // the same of drivers before R535 (2023), which have another name for why a clock is lowered
};

struct SmiCommand {
    SmiQuestion question{};
    std::string_view name{}; // "remapped-rows"
    std::vector<std::string> argv{};
};
const std::vector<SmiCommand>& smi_commands(); // one a question

const std::vector<std::string>& smi_argv(SmiQuestion question); // "nvidia-smi" first

// Whether an nvidia-smi that ended so may have answered: it warns by its code, too (14: the infoROM of a GPU
// is corrupted), beside a whole answer. Not so one that a signal ended, or that there is not.
constexpr bool may_have_answered(int code) {
    return code >= 0 && code < 126;
}

} // namespace dockdist
