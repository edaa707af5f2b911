// Tells how busy this node is, every interval.
#pragma once

#include "node/sampler/gpu_stream.hpp"
#include "node/sampler/rank_watch.hpp"
#include "node/system/loop.hpp"
#include "shared/wire/sample.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace dockdist::node {

struct SamplerOptions {
    int interval_ms = 1000;
    std::string job{}; // whose processes are looked at; empty: those of all jobs
};

// In the loop of its process, beside whatever else that does: it waits for nothing, handles no signal, and
// does where another reaps its child. As root.
class Sampler {
public:
    using OnFacts = std::function<void(const wire::SampleFacts&)>;
    using OnSample = std::function<void(const wire::Sample&)>;

    // Calls on_facts before the first sample, and again before one of which they are not true any more; all
    // of it from the loop, for the first time at once. The callbacks must not destroy it.
    Sampler(Loop& loop, SamplerOptions options, OnFacts on_facts, OnSample on_sample);
    ~Sampler(); // ends what it has started
    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    const wire::SampleFacts& facts() const { return facts_; } // the latest that were told

private:
    void tick();
    void refresh_facts();

    Loop& loop_;
    SamplerOptions options_;
    OnFacts on_facts_;
    OnSample on_sample_;
    GpuStream gpus_;
    RankWatch ranks_;
    wire::SampleFacts facts_{};
    wire::SampleFacts host_{};           // without GPUs
    std::int64_t looked_at_host_ms_ = 0; // 0: never
    bool has_told_ = false;
    std::int64_t due_ms_;
    Loop::Timer timer_ = 0;
};

} // namespace dockdist::node
