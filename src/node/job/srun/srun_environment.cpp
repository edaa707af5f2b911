#include "node/job/srun/srun_environment.hpp"

#include "shared/gpu/kfd.hpp"
#include "shared/gpu/units.hpp"
#include "shared/wire/job.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace dockdist::node {
namespace {

// Of this login, this node or this process; or what every task gets anew.
constexpr std::array<std::string_view, 19> never_carried{"SSH_CLIENT",
                                                         "SSH_CONNECTION",
                                                         "SSH_TTY",
                                                         "HOSTNAME",
                                                         "PWD",
                                                         "OLDPWD",
                                                         "SHLVL",
                                                         "_",
                                                         "DOCKDIST_NODE",
                                                         "DOCKDIST_NODE_RANK",
                                                         "RANK",
                                                         "LOCAL_RANK",
                                                         "WORLD_SIZE",
                                                         "LOCAL_WORLD_SIZE",
                                                         "NODE_RANK",
                                                         "NNODES",
                                                         "SLURM_TASK_PID",
                                                         wire::job_mark,
                                                         job_environment_variable};

bool is_carried(std::string_view name, std::string_view value) {
    if (name == cuda_devices_variable || name == rocm_devices_variable || name == hip_devices_variable) {
        // By UUID a GPU is one of this machine.
        return !value.starts_with("GPU-") && !value.starts_with("MIG-");
    }
    return std::ranges::find(never_carried, name) == never_carried.end();
}

bool is_of_part(const std::optional<JobPart>& part, const std::string& name, const std::string& value) {
    if (!part) {
        return false;
    }
    for (const auto* variables : {&part->env, &part->secrets}) {
        if (const auto found = variables->find(name); found != variables->end() && found->second == value) {
            return true;
        }
    }
    return false;
}

} // namespace

CarriedVariables carried_variables(const Environment& own, const Environment& recorded,
                                   const std::optional<JobPart>& part, const ExportedVariables& exported) {
    CarriedVariables carried;
    for (const auto& entry : own.entries()) {
        const auto name = entry.substr(0, entry.find('='));
        const auto value = entry.substr(std::min(name.size() + 1, entry.size()));
        const bool asked_for = std::ranges::find(exported.names, name) != exported.names.end();
        const bool is_own = recorded.get(name) != value && !is_of_part(part, name, value);
        if (asked_for || (exported.all && is_own && is_carried(name, value))) {
            carried.set.insert_or_assign(name, value);
        }
    }
    for (const auto& [name, value] : exported.values) {
        carried.set.insert_or_assign(name, value);
    }
    for (const auto& entry : recorded.entries()) {
        const auto name = entry.substr(0, entry.find('='));
        if (exported.all && !own.get(name) && is_carried(name, "") && !carried.set.contains(name)) {
            carried.unset.push_back(name);
        }
    }
    return carried;
}

std::string gpus_of_task(const std::vector<std::string>& visible, int gpus, int per_task, int local_rank) {
    const auto all = std::min(gpus < 0 ? visible.size() : static_cast<std::size_t>(gpus), visible.size());
    const auto first =
        std::min(static_cast<std::size_t>(per_task) * static_cast<std::size_t>(local_rank), all);
    const auto last = per_task == 0 ? all : std::min(first + static_cast<std::size_t>(per_task), all);
    std::string text;
    for (auto i = first; i < last; ++i) {
        text += (text.empty() ? "" : ",") + visible[i];
    }
    return text;
}

} // namespace dockdist::node
