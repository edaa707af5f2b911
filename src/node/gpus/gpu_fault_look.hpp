// Asks nvidia-smi, beside the loop, what is wrong with a job's GPUs (shared/gpu/gpu_faults.hpp).
#pragma once

#include "node/system/helper_run.hpp"
#include "shared/wire/gpus.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dockdist::node {

class GpuFaultLook {
public:
    explicit GpuFaultLook(Loop& loop) : loop_(loop) {}

    void begin(const std::vector<wire::GpuUnit>& units); // forgets what was found before
    // So far. That nvidia-smi does not answer is a finding too; that there is none is not.
    const std::vector<std::string>& found() const { return found_; }

private:
    Loop& loop_;
    std::vector<std::string> found_{};
    std::unique_ptr<HelperRun> run_{};
};

} // namespace dockdist::node
