// A node's samples as readings of what one job has of it. Pure.
#pragma once

#include "shared/usage/recorder.hpp"
#include "shared/wire/sample.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

class Readings {
public:
    // `units`: ids of the job's own units (shared/wire/gpus.hpp). Where it has none, GPUs that its ranks see
    // are meant.
    Readings(std::string job, std::vector<std::string> units)
        : job_(std::move(job)), units_(std::move(units)) {}

    // What counts up is told from the second sample on, as what it was since the one before.
    Reading of(const wire::SampleFacts& facts, const wire::Sample& sample);
    // Whether the GPU is the job's.
    bool is_own(const wire::GpuInventory& gpu, const wire::Sample& sample) const;

private:
    std::string job_;
    std::vector<std::string> units_;
    std::optional<wire::Sample> before_{};
    wire::SampleFacts before_facts_{};
};

} // namespace dockdist
