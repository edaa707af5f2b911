// What is kept of a job's samples on one node: each figure's mean and peak, and its curve, in so many points
// as fit whatever time it runs.
#pragma once

#include "shared/wire/job_usage.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace dockdist {

// One look at a node. What could not be measured is not there.
struct Reading {
    struct Value {
        wire::Figure figure = wire::Figure::cpu;
        int gpu = -1; // index, of those of GPUs
        double value = 0;
    };
    std::int64_t at_ms = 0; // by a clock that never goes back
    std::vector<Value> values{};
};

class Recorder {
public:
    // Readings are expected every `interval_ms`. A value stands for the time since the reading before, and
    // where that is long ago for two intervals.
    explicit Recorder(std::int64_t interval_ms, std::size_t most_points = wire::most_curve_points)
        : interval_ms_(interval_ms), most_points_(most_points), step_ms_(interval_ms) {}

    void add(const Reading& reading);

    bool empty() const { return !begun_ms_; }
    std::vector<wire::FigureUse> figures() const; // for JobUsage
    // `started_ms` of the first reading, since 1970.
    wire::JobHistory history(std::int64_t started_ms) const;

private:
    struct Sum {
        double weighted = 0, seconds = 0, peak = 0;
        int peak_gpu = -1;
    };
    struct Bucket {
        double least = 0, sum = 0, most = 0;
        std::int64_t count = 0; // 0: it has no value
        void add(const Bucket& other);
    };
    void merge_pairs();

    std::int64_t interval_ms_;
    std::size_t most_points_;
    std::int64_t step_ms_; // of a bucket
    std::optional<std::int64_t> begun_ms_{};
    std::int64_t last_ms_ = 0;
    std::map<wire::Figure, Sum> sums_{};
    std::map<std::pair<wire::Figure, int>, std::vector<Bucket>> curves_{};
};

// The same with at most so many points, each of several. Nothing is lost of least and most.
wire::JobHistory thinned(wire::JobHistory history, std::size_t most_points);

} // namespace dockdist
