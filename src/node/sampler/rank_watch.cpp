#include "node/sampler/rank_watch.hpp"

#include "core/number.hpp"
#include "gpu/units.hpp"
#include "node/session/rank_names.hpp"
#include "node/system/process_environ.hpp"
#include "wire/job.hpp"

#include <algorithm>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr int most_generations = 64; // that are looked through from a process upwards

int number_of(const Environment& environment, const char* name) {
    const auto value = environment.get(name);
    const auto number = value ? whole_number<int>(*value) : std::nullopt;
    return number && *number >= 0 ? *number : -1;
}

std::vector<wire::GpuUnit> units_among(const std::vector<wire::GpuInventory>& gpus) {
    std::vector<wire::GpuUnit> units;
    for (const auto& gpu : gpus) {
        if (gpu.instances.empty()) {
            units.push_back({.id = gpu.uuid, .index = gpu.index, .name = gpu.name});
        }
        for (const auto& instance : gpu.instances) {
            units.push_back({.id = instance, .index = gpu.index, .name = gpu.name});
        }
    }
    return units;
}

std::int64_t ticks_to_ms(std::int64_t ticks) {
    static const auto per_second = std::max(::sysconf(_SC_CLK_TCK), 1L);
    return ticks * 1000 / per_second;
}

} // namespace

ProcessMark process_mark(std::string_view environ_block) {
    auto environment = Environment::from_block(environ_block);
    ProcessMark mark{.job = environment.get(wire::job_mark).value_or("")};
    if (!wire::is_job_id(mark.job)) {
        return {};
    }
    name_ranks(environment);
    mark.rank = number_of(environment, "RANK");
    mark.local_rank = number_of(environment, "LOCAL_RANK");
    mark.local_world = number_of(environment, "LOCAL_WORLD_SIZE");
    mark.visible = environment.get(cuda_devices_variable).value_or("");
    return mark;
}

std::vector<int> gpus_of(const ProcessMark& mark, const std::vector<wire::GpuInventory>& gpus) {
    auto units = units_among(gpus);
    if (!mark.visible.empty()) {
        units = named_units(mark.visible, units).units;
    } else if (mark.rank < 0) {
        return {}; // whatever is there, or nothing
    }
    const auto world =
        static_cast<std::size_t>(mark.local_world > 0 ? mark.local_world : static_cast<int>(units.size()));
    const auto share = std::max<std::size_t>(units.size() / std::max<std::size_t>(world, 1), 1);
    if (const auto first = static_cast<std::size_t>(mark.local_rank) * share;
        mark.local_rank >= 0 && first + share <= units.size()) {
        units = {units.begin() + static_cast<std::ptrdiff_t>(first),
                 units.begin() + static_cast<std::ptrdiff_t>(first + share)};
    }
    std::vector<int> indices;
    for (const auto& unit : units) {
        if (std::ranges::find(indices, unit.index) == indices.end()) {
            indices.push_back(unit.index);
        }
    }
    return indices;
}

std::vector<wire::RankSample> RankWatch::look(const std::vector<wire::GpuInventory>& gpus) {
    return see(all_processes(), gpus, [](pid_t pid) { return process_mark(read_process_environ(pid)); });
}

void RankWatch::know(const ProcessStat& stat) {
    auto& process = known_[stat.pid];
    if (process.stat.started_ticks != stat.started_ticks) { // another one by this number
        process = {};
    }
    process.stat = stat;
    process.seen = true;
}

// Who waits for a process has its time from then on, of which a part may be counted.
void RankWatch::forget_ended() {
    for (const auto& [pid, process] : known_) {
        if (process.seen) {
            continue;
        }
        auto heir = known_.find(process.stat.parent);
        for (int steps = 0; steps < most_generations && heir != known_.end() && !heir->second.seen; ++steps) {
            heir = known_.find(heir->second.stat.parent);
        }
        if (heir != known_.end()) {
            heir->second.counted_waited += process.counted + process.counted_waited;
        }
    }
    std::erase_if(known_, [&](const auto& one) { return !one.second.seen; });
}

// A process that says nothing of a job, or nothing of a rank, is where its parent is.
ProcessMark RankWatch::place_of(const Process& process) const {
    auto mark = process.mark;
    const auto* at = &process;
    for (int steps = 0; steps < most_generations && (mark.job.empty() || mark.rank < 0); ++steps) {
        const auto parent = known_.find(at->stat.parent);
        if (parent == known_.end() || parent->first == at->stat.pid) {
            break;
        }
        at = &parent->second;
        if (!at->mark.job.empty() && (mark.job.empty() || (mark.job == at->mark.job && at->mark.rank >= 0))) {
            mark = at->mark;
        }
    }
    return mark;
}

std::vector<wire::RankSample> RankWatch::gather(const std::vector<wire::GpuInventory>& gpus) {
    static const auto page = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
    struct Gathered {
        const Process* first = nullptr; // of its processes, and where it stands
        ProcessMark mark{};
        std::uint64_t memory = 0;
    };
    std::map<Place, Gathered> places;
    const auto count = [](std::int64_t now, std::int64_t& counted) {
        const auto more = std::max<std::int64_t>(now - counted, 0);
        counted += more;
        return more;
    };
    for (auto& [pid, process] : known_) {
        auto mark = place_of(process);
        if (mark.job.empty() || process.stat.has_ended() || (!only_job_.empty() && mark.job != only_job_)) {
            continue;
        }
        const Place place{mark.job, mark.rank};
        cpu_ticks_[place] += count(process.stat.cpu_ticks, process.counted) +
                             count(process.stat.waited_ticks, process.counted_waited);
        auto& gathered = places[place];
        gathered.memory +=
            static_cast<std::uint64_t>(std::max<std::int64_t>(process.stat.resident_pages, 0)) * page;
        if (gathered.first == nullptr ||
            std::pair(process.stat.started_ticks, pid) <
                std::pair(gathered.first->stat.started_ticks, gathered.first->stat.pid)) {
            gathered.first = &process;
            gathered.mark = std::move(mark);
        }
    }
    std::erase_if(cpu_ticks_, [&](const auto& one) { return !places.contains(one.first); });
    std::vector<wire::RankSample> ranks;
    for (const auto& [place, gathered] : places) {
        if (ranks.size() == wire::most_sampled_ranks) {
            break;
        }
        ranks.push_back({.job = place.first,
                         .rank = place.second,
                         .pid = gathered.first->stat.pid,
                         .cpu_ms = ticks_to_ms(cpu_ticks_[place]),
                         .memory_bytes = gathered.memory,
                         .gpus = gpus_of(gathered.mark, gpus)});
    }
    return ranks;
}

} // namespace dockdist::node
