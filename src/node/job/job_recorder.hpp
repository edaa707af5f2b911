// What a job uses of this node while its part lives: sampled, kept in the job's folder with what there is to
// say of it, and watched for GPUs that do nothing.
#pragma once

#include "node/sampler/sampler.hpp"
#include "node/system/loop.hpp"
#include "shared/load/findings.hpp"
#include "shared/usage/finding_record.hpp"
#include "shared/usage/idle_watch.hpp"
#include "shared/usage/readings.hpp"
#include "shared/usage/recorder.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace dockdist::node {

class JobRecorder {
public:
    // The summary is the part's own: its result bears the usage, and it is saved now and then.
    JobRecorder(Loop& loop, wire::JobSummary& summary);
    ~JobRecorder();
    JobRecorder(const JobRecorder&) = delete;
    JobRecorder& operator=(const JobRecorder&) = delete;

    std::function<void(wire::JobEvent)> on_event{}; // idle, busy

    // Of each attempt; with the first one sampling begins, a moment later, so that a job of a moment costs
    // nothing.
    void begin_attempt();
    // The part is over: the result bears what it used, the history stays.
    void end();

private:
    void sample();
    void hear(const wire::Sample& sample);
    void find(const wire::SampleFacts& facts, const wire::Sample& sample);
    void save();
    void put_usage();

    Loop& loop_;
    wire::JobSummary& summary_;
    std::string host_; // JobUsage::host
    Readings readings_;
    Recorder recorder_;
    IdleWatch idle_;
    FindingWatch watch_{};
    FindingRecord found_{};
    std::optional<Sampler> sampler_{};
    Loop::Timer timer_ = 0;
    std::int64_t begun_ms_ = 0;      // of the loop's clock; 0: no sample yet
    std::int64_t begun_unix_ms_ = 0; // the same moment
    std::int64_t saved_ms_ = 0;
};

} // namespace dockdist::node
