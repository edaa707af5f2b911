// What goes of what the node keeps of its jobs: within the bounds of the file, and when the disk is full.
#pragma once

#include "shared/wire/history.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dockdist::node {

// Records beyond these go, whatever the file says: a client reads all of them at a time.
inline constexpr std::size_t most_ended_jobs = 5000;

struct KeptJob {
    std::string job{};
    bool running = false;
    std::int64_t ended_ms = 0; // since 1970
    std::uint64_t output = 0;  // bytes of its log that are there
};

struct Pruning {
    struct Output {
        std::string job{};
        std::string cause{}; // for whoever looks for it
        bool operator==(const Output&) const = default;
    };
    std::vector<std::string> records{}; // jobs of which nothing stays
    std::vector<Output> outputs{};
};

// Pure. Of jobs that have ended alone; what has ended first goes first. The output of running ones counts.
Pruning what_goes(std::vector<KeptJob> jobs, const wire::HistoryLimits& limits, std::int64_t now_ms);

// Does it, by what stands in the store. While the disk is nearly full, the output of ended jobs goes, the
// oldest first, and running ones are told to shrink theirs, OutputLog::shrink.
void prune_store(std::int64_t now_ms);

// Where a running job is told so.
std::string shrink_mark(const std::string& job);

} // namespace dockdist::node
