#include "node/job/job_recorder.hpp"

#include "node/job/job_store.hpp"
#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "shared/gpu/units.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace dockdist::node {
namespace {

constexpr int sample_interval_ms = 1000;
constexpr std::int64_t first_sample_after_ms = 500;
// What is kept is saved after a tenth more of the time, at least and at most so often.
constexpr std::int64_t shortest_save_pause_ms = 2000, longest_save_pause_ms = 60000;

std::vector<std::string> own_gpus(const wire::JobSummary& summary) {
    std::vector<std::string> ids;
    for (const auto& unit : summary.units) {
        if (!is_slot(unit)) {
            ids.push_back(unit.id);
        }
    }
    return ids;
}

} // namespace

JobRecorder::JobRecorder(Loop& loop, wire::JobSummary& summary)
    : loop_(loop), summary_(summary), host_(host_mark()), readings_(summary.job, own_gpus(summary)),
      recorder_(sample_interval_ms),
      idle_(summary.policy.idle_ms, static_cast<int>(own_gpus(summary).size())) {}

JobRecorder::~JobRecorder() {
    loop_.cancel(timer_);
}

void JobRecorder::begin_attempt() {
    if (idle_.begin(loop_.now_ms())) {
        on_event({.type = wire::JobEvent::Type::idle, .gpus = idle_.gpus()});
    }
    if (timer_ == 0) {
        timer_ = loop_.after(first_sample_after_ms, [this] { sample(); });
    }
}

void JobRecorder::sample() {
    sampler_.emplace(
        loop_, SamplerOptions{.interval_ms = sample_interval_ms, .job = summary_.job},
        [](const wire::SampleFacts&) {}, [this](const wire::Sample& sample) { hear(sample); });
}

void JobRecorder::hear(const wire::Sample& sample) {
    if (begun_ms_ == 0) {
        begun_ms_ = saved_ms_ = sample.clock_ms;
        begun_unix_ms_ = sample.at_ms;
    }
    const auto reading = readings_.of(sampler_->facts(), sample);
    recorder_.add(reading);
    const auto idle = idle_.hear(reading);
    find(sampler_->facts(), sample);
    if (idle) {
        on_event(
            {.type = *idle ? wire::JobEvent::Type::idle : wire::JobEvent::Type::busy, .gpus = idle_.gpus()});
    }
    const auto pause =
        std::clamp((saved_ms_ - begun_ms_) / 10, shortest_save_pause_ms, longest_save_pause_ms);
    if (sample.clock_ms - saved_ms_ >= pause) {
        saved_ms_ = sample.clock_ms;
        save();
        (void)save_summary(summary_);
    }
}

// What of it concerns the job: its own GPUs, which may do nothing, and what the node's host has for all.
void JobRecorder::find(const wire::SampleFacts& facts, const wire::Sample& sample) {
    watch_.hear("", facts, sample);
    auto found = watch_.findings();
    std::erase_if(found, [&](const wire::Finding& finding) {
        const auto gpu = std::ranges::find(facts.gpus, finding.gpu, &wire::GpuInventory::index);
        return gpu != facts.gpus.end() && !readings_.is_own(*gpu, sample);
    });
    if (const auto idle_ms = idle_.idle_for_ms(sample.clock_ms)) {
        found.push_back({.kind = wire::Finding::Kind::idle, .for_ms = *idle_ms});
    }
    found_.hear(sample.clock_ms, found);
}

void JobRecorder::put_usage() {
    summary_.result.usage = {.gpus = static_cast<int>(own_gpus(summary_).size()),
                             .duration_ms = std::max<std::int64_t>(unix_ms() - summary_.started_ms, 1),
                             .host = host_,
                             .figures = recorder_.figures(),
                             .findings = found_.findings()};
}

void JobRecorder::save() {
    put_usage();
    if (!recorder_.empty()) {
        (void)save_history(summary_.job, recorder_.history(begun_unix_ms_));
    }
}

void JobRecorder::end() {
    loop_.cancel(timer_);
    sampler_.reset();
    save();
}

} // namespace dockdist::node
