#include "shared/gpu/gpu_faults.hpp"

#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"
#include "shared/gpu/smi.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace dockdist {
namespace {

// Of one GPU.
struct Health {
    std::string action{}; // "Reset"; empty: none
    bool remap_failed = false;
};

std::string fault_words(const wire::GpuUnit& unit, const std::optional<Health>& health) {
    const auto gpu = "GPU " + std::to_string(unit.index);
    if (!health) {
        return gpu + " has gone: nvidia-smi does not show it";
    }
    if (!health->action.empty()) {
        return gpu + " is faulty: the driver asks for \"" + printable(health->action) + "\"";
    }
    return health->remap_failed ? gpu + " is faulty: rows of its memory cannot be remapped" : "";
}

} // namespace

std::vector<std::string> gpu_faults_command() {
    auto argv = smi_argv(SmiQuestion::log);
    const auto only = std::ranges::find(argv, "-i");
    argv.erase(only, std::min(only + 2, argv.end()));
    return argv;
}

std::vector<std::string> parse_gpu_faults(std::string_view log, const std::vector<wire::GpuUnit>& units) {
    std::map<std::string, Health> gpus; // by UUID
    Health* gpu = nullptr;
    for (const auto& line : split(log, '\n')) {
        const auto colon = line.find(" : ");
        if (colon == std::string::npos) {
            continue;
        }
        const auto name = trimmed(std::string_view(line).substr(0, colon), " \t\r");
        const auto value = trimmed(std::string_view(line).substr(colon + 3), " \t\r");
        if (name == "GPU UUID") {
            gpu = &gpus[std::string(value)];
        } else if (gpu != nullptr && name == "GPU Recovery Action" && value != "None" && value != "N/A") {
            gpu->action = value;
        } else if (gpu != nullptr && name == "Remapping Failure Occurred") {
            gpu->remap_failed = value == "Yes";
        }
    }
    std::vector<std::string> faults;
    for (const auto& unit : units) {
        if (gpus.empty() || !unit.id.starts_with("GPU-")) {
            continue;
        }
        const auto found = gpus.find(unit.id);
        auto words = fault_words(unit, found == gpus.end() ? std::nullopt : std::optional(found->second));
        if (!words.empty()) {
            faults.push_back(std::move(words));
        }
    }
    return faults;
}

} // namespace dockdist
