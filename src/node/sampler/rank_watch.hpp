// What the ranks of a node's jobs use: their processes, known by what stands in their environment.
#pragma once

#include "node/system/process_stat.hpp"
#include "shared/wire/sample.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dockdist::node {

struct RankMark {
    int rank = -1, local_rank = -1, local_world = -1; // -1: unknown
    bool operator==(const RankMark&) const = default;
};

// Pure: where a process belongs, by its own environment.
struct ProcessMark {
    std::string job{};     // empty: it says nothing of a job
    RankMark numbers{};    // by RANK and its kin, else by the names of MPI, Slurm and others
    RankMark by_others{};  // by those names alone
    std::string visible{}; // CUDA_VISIBLE_DEVICES, or what says it of AMD's (visible_to)
};
ProcessMark process_mark(std::string_view environ_block);

// Pure: the indices of the GPUs that a rank is to use: its share of those that it sees.
std::vector<int> gpus_of(const ProcessMark& mark, const std::vector<wire::GpuInventory>& gpus);

class RankWatch {
public:
    // Of all jobs, or of one.
    explicit RankWatch(std::string only_job = {}) : only_job_(std::move(only_job)) {}

    // most_sampled_ranks at most, by job and rank.
    std::vector<wire::RankSample> look(const std::vector<wire::GpuInventory>& gpus);
    // Pure part; `mark_of` is asked for processes that have not been looked at twice (a process that has just
    // been forked has its parent's environment until its program begins); nothing: at the next look.
    template <class MarkOf>
    std::vector<wire::RankSample> see(const std::vector<ProcessStat>& processes,
                                      const std::vector<wire::GpuInventory>& gpus, MarkOf mark_of);

private:
    struct Process {
        ProcessStat stat{};
        ProcessMark mark{};
        int looks = 0;
        bool seen = false;
        std::int64_t counted = 0;        // of its own ticks, those that its rank has already
        std::int64_t counted_waited = 0; // of waited_ticks
    };
    using Place = std::pair<std::string, int>; // job, rank
    struct Placed {
        ProcessMark mark{};
        ProcessMark told{}; // what the nearest process says of itself that says something
        pid_t root = 0;     // where the mark begins: all below it is of the same rank
    };
    using Placing = std::map<pid_t, Placed>;

    void know(const ProcessStat& stat);
    void forget_ended();
    const Placed& place(const Process& process, int generation, Placing& placing) const;
    Placing place_all() const;
    std::vector<wire::RankSample> gather(const std::vector<wire::GpuInventory>& gpus);

    std::string only_job_;
    std::map<pid_t, Process> known_{};
    std::map<Place, std::int64_t> cpu_ticks_{};
};

template <class MarkOf>
std::vector<wire::RankSample> RankWatch::see(const std::vector<ProcessStat>& processes,
                                             const std::vector<wire::GpuInventory>& gpus, MarkOf mark_of) {
    constexpr int enough_looks = 2;
    for (auto& [pid, process] : known_) {
        process.seen = false;
    }
    for (const auto& stat : processes) {
        know(stat);
        auto& process = known_[stat.pid];
        if (process.looks < enough_looks) {
            if (std::optional<ProcessMark> mark = mark_of(stat.pid)) {
                process.mark = std::move(*mark);
                ++process.looks;
            }
        }
    }
    forget_ended();
    return gather(gpus);
}

} // namespace dockdist::node
