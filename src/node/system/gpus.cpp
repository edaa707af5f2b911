#include "node/system/gpus.hpp"

#include "node/system/amd_gpus.hpp"
#include "node/system/environment.hpp"
#include "node/system/helper.hpp"
#include "node/system/os.hpp"
#include "shared/gpu/gpu.hpp"
#include "shared/gpu/kfd.hpp"
#include "shared/gpu/smi.hpp"
#include "shared/gpu/units.hpp"

#include <algorithm>

namespace dockdist::node {
namespace {}

int count_gpus() {
    if (const auto helper = believed_helper(smi_argv(SmiQuestion::listing))) {
        const auto finished = run_helper(*helper, nvidia_smi_limit_ms);
        const int listed = count_listed_gpus(finished.output);
        if (finished.code == 0 || (listed > 0 && may_have_answered(finished.code))) {
            return listed;
        }
    }
    const auto devices = count_gpu_devices(list_folder("/dev"));
    return devices > 0 ? devices : static_cast<int>(look_at_amd_gpus(false).size());
}

bool has_amd_gpus(const Environment& environment) {
    const auto shown = environment.get(rocm_devices_variable).value_or("");
    return environment.get(amd_asked_variable) || is_amd_uuid(shown.substr(0, shown.find(',')));
}

std::string choosing_variable(const Environment& environment) {
    if (!has_amd_gpus(environment)) {
        return cuda_devices_variable;
    }
    const auto hip = environment.get(hip_devices_variable);
    return hip && !hip->empty()                     ? hip_devices_variable
           : environment.get(cuda_devices_variable) ? cuda_devices_variable
                                                    : rocm_devices_variable;
}

std::optional<std::string> visible_to(const Environment& environment) {
    const auto variable = choosing_variable(environment);
    auto chosen = environment.get(variable);
    const auto among = environment.get(rocm_devices_variable);
    if (!chosen || !among || variable == rocm_devices_variable || !has_amd_gpus(environment)) {
        return chosen;
    }
    return devices_within(*among, *chosen);
}

void show_gpus(Environment& environment, const std::string& list) {
    if (!has_amd_gpus(environment) && devices_variable_for(list) == std::string_view(cuda_devices_variable)) {
        return environment.set(cuda_devices_variable, list);
    }
    environment.set(rocm_devices_variable, list);
    environment.unset(hip_devices_variable); // they would choose among these once more
    environment.unset(cuda_devices_variable);
}

int count_gpu_devices(const std::vector<std::string>& dev_entries) {
    return static_cast<int>(std::ranges::count_if(dev_entries, [](const std::string& name) {
        constexpr std::string_view prefix = "nvidia";
        return name.size() > prefix.size() && name.starts_with(prefix) &&
               name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
    }));
}

} // namespace dockdist::node
