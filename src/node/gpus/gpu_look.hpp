// What nvidia-smi, or AMD's driver, says of a node's GPUs now, and what the node keeps of them from its join.
#pragma once

#include "node/system/helper_run.hpp"
#include "shared/core/result.hpp"
#include "shared/gpu/units.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dockdist::node {

// Asks beside the loop: one call, and another for the instances where a GPU is split.
class GpuLook {
public:
    // not_found where there is no nvidia-smi and no GPU of AMD's; node when it does not answer, or says
    // nothing that is known.
    using Done = std::function<void(Result<SeenGpus>)>;
    // `when_done` is called from the loop, once; it may destroy this object.
    GpuLook(Loop& loop, Done when_done);
    ~GpuLook();
    GpuLook(const GpuLook&) = delete;
    GpuLook& operator=(const GpuLook&) = delete;

private:
    void ask(std::vector<std::string> argv, void (GpuLook::*heard)(const Finished&));
    void hear_gpus(const Finished& answer);
    void hear_instances(const Finished& answer);
    void tell(Result<SeenGpus> seen);

    Loop& loop_;
    Done when_done_;
    SeenGpus seen_{};
    std::unique_ptr<HelperRun> run_{};
    Loop::Timer soon_ = 0;
};
// The same for a process that has nothing else to do.
Result<SeenGpus> look_at_gpus();

// `nvidia-smi topo -m`; empty where it does not tell.
std::string look_at_topology();

// In the node's run folder, from each join until the next.
struct KnownGpus {
    std::string cluster{}, node{};
    int slots = 1;
    std::vector<wire::GpuUnit> units{}; // empty: it has no GPUs that could be named
    std::string topology{};
};
Status save_known_gpus(const KnownGpus& known);
Result<KnownGpus> load_known_gpus(); // not_found before the first join

} // namespace dockdist::node
