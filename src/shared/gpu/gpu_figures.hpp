// What nvidia-smi tells of a machine's GPUs over and over: a line for each of them every interval. Pure.
#pragma once

#include "shared/gpu/smi.hpp"
#include "shared/wire/sample.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// Arguments of nvidia-smi: it goes on until it is ended, and writes each round at once. `figures`: that
// question or old_figures.
std::vector<std::string> gpu_figures_command(int interval_ms, SmiQuestion figures);

struct GpuFiguresLine {
    wire::GpuInventory gpu{}; // without instances
    std::string driver{};
    bool mig = false;
    wire::GpuSample figures{};
};
// Nothing where it is no such line: a message.
std::optional<GpuFiguresLine> parse_gpu_figures(std::string_view line);

} // namespace dockdist
