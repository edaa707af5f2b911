#include "shared/launch/diagnosis_env.hpp"

#include "shared/launch/common.hpp"
#include "shared/launch/launch_line.hpp"

#include <array>
#include <utility>

namespace dockdist {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> spellings{
    {{"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"},
     {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"},
     {"TORCH_FR_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT"}}};

constexpr auto recorded_collectives = "2000"; // torch's own default from 2.11 on

// Servers of models are started plainly, or by Ray: there the recorder costs some percent.
bool trains_with_torch(const Launcher& launcher, const LaunchRequest& request) {
    const bool plain = launcher.launch == launch_plain;
    return plain ? request.per_rank || launch_line(request.command).has_value() : launcher.ranks_are_torchs;
}

std::map<std::string, std::string> defaults_of(const Launcher& launcher, const LaunchRequest& request) {
    std::map<std::string, std::string> defaults{
        {"NCCL_RAS_ADDR", "127.0.0.1:" + std::string(wire::own_port)}};
    if (trains_with_torch(launcher, request)) {
        defaults["TORCH_FR_BUFFER_SIZE"] = recorded_collectives;
        defaults["TORCH_FR_DUMP_TEMP_FILE"] = in_scratch(request, "fr_");
        defaults["TORCH_FR_DUMP_ON_TIMEOUT"] = "1";
        defaults["TORCH_NCCL_DEBUG_INFO_PIPE_FILE"] = in_scratch(request, "frp_");
        for (const auto& [name, other] : spellings) {
            defaults[std::string(other)] = defaults.at(std::string(name));
        }
    }
    return defaults;
}

} // namespace

Result<std::vector<NodeLaunch>> launch_job(const Launcher& launcher, const LaunchRequest& request) {
    auto launches = launcher.launch(request);
    if (launches) {
        for (auto& launch : *launches) {
            launch.start.env_defaults = defaults_of(launcher, request);
        }
    }
    return launches;
}

std::string_view other_spelling(std::string_view name) {
    for (const auto& [one, other] : spellings) {
        if (name == one || name == other) {
            return name == one ? other : one;
        }
    }
    return {};
}

} // namespace dockdist
