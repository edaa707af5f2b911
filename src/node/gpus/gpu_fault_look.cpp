#include "node/gpus/gpu_fault_look.hpp"

#include "node/system/gpus.hpp"
#include "shared/gpu/gpu_faults.hpp"

namespace dockdist::node {

void GpuFaultLook::begin(const std::vector<wire::GpuUnit>& units) {
    found_.clear();
    run_.reset();
    const auto helper = believed_helper(gpu_faults_command());
    if (units.empty() || !helper) {
        return;
    }
    run_ = std::make_unique<HelperRun>(loop_, *helper, nvidia_smi_limit_ms, [this, units](Finished answer) {
        found_ = answer.code < 0 ? std::vector{"nvidia-smi does not answer within " +
                                               std::to_string(nvidia_smi_limit_ms / 1000) + " s"}
                                 : parse_gpu_faults(answer.output, units);
    });
}

} // namespace dockdist::node
