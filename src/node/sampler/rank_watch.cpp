#include "node/sampler/rank_watch.hpp"

#include "node/session/rank_names.hpp"
#include "node/system/gpus.hpp"
#include "node/system/os.hpp"
#include "node/system/process_environ.hpp"
#include "shared/core/number.hpp"
#include "shared/gpu/units.hpp"
#include "shared/wire/job.hpp"

#include <algorithm>
#include <set>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr int most_generations = 64;          // that are looked through from a process upwards
constexpr std::int64_t longest_look_ms = 100; // at environments, which may be many and large
constexpr std::size_t longest_visible = 4096; // as many names as there are GPUs

int number_of(const Environment& environment, const char* name) {
    const auto value = environment.get(name);
    const auto number = value ? whole_number<int>(*value) : std::nullopt;
    return number && *number >= 0 ? *number : -1;
}

RankMark numbers_in(Environment environment) {
    name_ranks(environment);
    return {.rank = number_of(environment, "RANK"),
            .local_rank = number_of(environment, "LOCAL_RANK"),
            // DeepSpeed sets its own name, and leaves the other as it finds it.
            .local_world =
                std::max(number_of(environment, "LOCAL_WORLD_SIZE"), number_of(environment, "LOCAL_SIZE"))};
}

// Whether a process that has these numbers was launched as a rank by one that has those; else it has set
// them for purposes of its own, as a rank does that evaluates alone.
bool are_launched_by(const RankMark& numbers, const RankMark& parent) {
    return parent.rank < 0 || parent.local_world < 0 || numbers.local_world > parent.local_world ||
           numbers.local_rank >= parent.local_world;
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
    mark.visible = visible_to(environment).value_or("").substr(0, longest_visible);
    mark.numbers = numbers_in(environment);
    for (const auto* name : {"RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}) {
        environment.unset(name);
    }
    mark.by_others = numbers_in(std::move(environment));
    return mark;
}

std::vector<int> gpus_of(const ProcessMark& mark, const std::vector<wire::GpuInventory>& gpus) {
    const auto& [rank, local_rank, local_world] = mark.numbers;
    auto units = units_among(gpus);
    if (!mark.visible.empty()) {
        units = named_units(mark.visible, units).units;
    } else if (rank < 0) {
        return {}; // whatever is there, or nothing
    }
    const auto world = static_cast<std::size_t>(
        local_world > std::max(local_rank, 0) ? local_world : static_cast<int>(units.size()));
    const auto share = std::max<std::size_t>(units.size() / std::max<std::size_t>(world, 1), 1);
    if (const auto first = static_cast<std::size_t>(local_rank) * share;
        local_rank >= 0 && first + share <= units.size()) {
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
    const auto deadline = monotonic_ms() + longest_look_ms;
    return see(all_processes(), gpus, [deadline](pid_t pid) {
        return monotonic_ms() > deadline ? std::nullopt
                                         : std::optional(process_mark(read_process_environ(pid)));
    });
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

// A process is where its parent is, unless it says something else of itself than it has from there.
const RankWatch::Placed& RankWatch::place(const Process& process, int generation, Placing& placing) const {
    const auto pid = process.stat.pid;
    if (const auto done = placing.find(pid); done != placing.end()) {
        return done->second;
    }
    Placed placed;
    if (const auto parent = known_.find(process.stat.parent);
        parent != known_.end() && parent->first != pid && generation < most_generations) {
        placed = place(parent->second, generation + 1, placing);
    }
    const auto& own = process.mark;
    if (!own.job.empty()) {
        const auto above = std::exchange(placed.told, own);
        const bool is_launched = own.numbers.rank >= 0 && own.numbers != above.numbers &&
                                 are_launched_by(own.numbers, placed.mark.numbers);
        if (is_launched || own.job != placed.mark.job) {
            placed.mark = own;
            placed.root = pid;
        } else if (own.by_others.rank >= 0 && own.by_others != above.by_others) { // whose RANK is from above
            placed.mark = own;
            placed.mark.numbers = own.by_others;
            placed.root = pid;
        }
    }
    return placing[pid] = std::move(placed);
}

// Who has launched ranks, as a script does that the launcher plain has given a number, is none itself.
RankWatch::Placing RankWatch::place_all() const {
    Placing placing;
    std::set<pid_t> launchers;
    for (const auto& [pid, process] : known_) {
        const auto& placed = place(process, 0, placing);
        const auto above = placing.find(process.stat.parent);
        if (placed.root == pid && above != placing.end() && above->second.root != 0 &&
            above->second.mark.job == placed.mark.job && placed.mark.numbers.rank >= 0 &&
            placed.mark.numbers.local_rank <= 0) { // else it may be the first one itself
            launchers.insert(above->second.root);
        }
    }
    for (auto& [pid, placed] : placing) {
        if (launchers.contains(placed.root)) {
            placed.mark.numbers = {};
        }
    }
    return placing;
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
    auto placing = place_all();
    for (auto& [pid, process] : known_) {
        auto& mark = placing[pid].mark;
        if (mark.job.empty() || process.stat.has_ended() || (!only_job_.empty() && mark.job != only_job_)) {
            continue;
        }
        const Place at{mark.job, mark.numbers.rank};
        cpu_ticks_[at] += count(process.stat.cpu_ticks, process.counted) +
                          count(process.stat.waited_ticks, process.counted_waited);
        auto& gathered = places[at];
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
    for (const auto& [at, gathered] : places) {
        if (ranks.size() == wire::most_sampled_ranks) {
            break;
        }
        ranks.push_back({.job = at.first,
                         .rank = at.second,
                         .pid = gathered.first->stat.pid,
                         .cpu_ms = ticks_to_ms(cpu_ticks_[at]),
                         .memory_bytes = gathered.memory,
                         .gpus = gpus_of(gathered.mark, gpus)});
    }
    return ranks;
}

} // namespace dockdist::node
