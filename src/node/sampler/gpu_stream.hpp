// The GPUs' figures, from one nvidia-smi that runs on and on; AMD's from the files of their driver, each
// time.
#pragma once

#include "node/system/amd_gpus.hpp"
#include "node/system/helper_run.hpp"
#include "shared/gpu/gpu_figures.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dockdist::node {

// Starts it again where it ends, after longer and longer pauses. It bears the mark of helpers, which a job's
// end spares.
class GpuStream {
public:
    GpuStream(Loop& loop, int interval_ms);
    ~GpuStream();
    GpuStream(const GpuStream&) = delete;
    GpuStream& operator=(const GpuStream&) = delete;

    // Of SampleFacts: gpus, driver, asking_gpus and gpu_problem. Looks at AMD's GPUs: some files each, which
    // their driver answers at once unless it hangs.
    void tell(wire::SampleFacts& facts);
    // Of the GPUs that these facts have, the latest that were told; empty where none of it is fresh.
    std::vector<wire::GpuSample> figures(const wire::SampleFacts& facts) const;

private:
    struct Known {
        wire::GpuInventory gpu{};
        wire::GpuSample figures{};
        std::int64_t told_at_ms = 0;
    };
    void start();
    void hear(std::string_view bytes);
    void hear_line(const std::string& line);
    void end(const Finished& finished);
    void ask_instances();
    bool fresh(const Known& known) const;

    Loop& loop_;
    int interval_ms_;
    SmiQuestion figures_ = SmiQuestion::figures; // as this driver knows them
    std::map<int, Known> known_{};               // by index
    std::string driver_{}, problem_{};
    bool asking_ = true;
    bool present_ = true; // there is an nvidia-smi
    bool amd_ = false;    // none, but GPUs of AMD's
    std::vector<AmdGpu> amd_gpus_{};
    std::string buffer_{}, last_words_{};
    std::int64_t started_at_ms_ = 0;
    bool has_told_ = false; // since it was started
    int failures_ = 0;      // in sequence
    bool has_instances_ = false;
    std::unique_ptr<HelperRun> run_{}, listing_{};
    Loop::Timer again_ = 0;
};

} // namespace dockdist::node
