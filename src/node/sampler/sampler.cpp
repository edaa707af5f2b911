#include "node/sampler/sampler.hpp"

#include "node/sampler/host_counters.hpp"
#include "node/system/os.hpp"

#include <algorithm>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::int64_t between_host_looks_ms = 60000; // for mounts and interfaces that come and go
constexpr std::int64_t rest_after_look = 4;           // times what it took

} // namespace

Sampler::Sampler(Loop& loop, SamplerOptions options, OnFacts on_facts, OnSample on_sample)
    : loop_(loop), options_(std::move(options)), on_facts_(std::move(on_facts)),
      on_sample_(std::move(on_sample)), gpus_(loop, options_.interval_ms), ranks_(options_.job),
      due_ms_(loop.now_ms()) {
    timer_ = loop_.after(0, [this] { tick(); });
}

Sampler::~Sampler() {
    loop_.cancel(timer_);
}

void Sampler::refresh_facts() {
    const auto now = loop_.now_ms();
    if (!has_told_ || now - looked_at_host_ms_ >= between_host_looks_ms) {
        looked_at_host_ms_ = now;
        look_at_host(host_);
        host_.interval_ms = options_.interval_ms;
    }
    auto facts = host_;
    gpus_.tell(facts);
    if (!has_told_ || facts != facts_) {
        has_told_ = true;
        facts_ = std::move(facts);
        on_facts_(facts_);
    }
}

void Sampler::tick() {
    const auto begun = loop_.now_ms();
    refresh_facts();
    wire::Sample sample{.at_ms = unix_ms(), .clock_ms = loop_.now_ms()};
    count_host(facts_, sample);
    sample.gpus = gpus_.figures(facts_);
    sample.ranks = ranks_.look(facts_.gpus);
    on_sample_(sample);
    // In step, whatever a look takes; what was missed is left out. Of many thousands of processes a look
    // takes long, and so does the rest after it.
    const auto now = loop_.now_ms();
    const auto earliest = now + (now - begun) * rest_after_look;
    due_ms_ += options_.interval_ms;
    if (due_ms_ <= earliest) {
        due_ms_ = earliest + options_.interval_ms - (earliest - due_ms_) % options_.interval_ms;
    }
    timer_ = loop_.after(due_ms_ - now, [this] { tick(); });
}

} // namespace dockdist::node
