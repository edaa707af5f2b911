#include "shared/load/findings.hpp"

#include "shared/core/units.hpp"
#include "shared/load/mean.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace dockdist {
namespace {

constexpr double waits_share = 0.6;       // of the busiest rank's activity: all others are below it
constexpr double slow_clock_share = 0.85; // of the ranks' median clock
constexpr double least_clock_use = 50;    // percent utilisation, for clocks to be compared
constexpr std::uint64_t least_growth = 256ULL << 20U;
constexpr std::uint64_t hardware_bits = 0x88; // hw_slowdown, which heat sets too; hw_power_brake_slowdown
constexpr std::size_t most_looks = slow_rank_ms / wire::least_sample_interval_ms + 2; // whatever a clock says

bool is_thermal(std::uint64_t bits) {
    return std::ranges::any_of(wire::throttle_reasons, [&](const wire::ThrottleReason& reason) {
        return reason.thermal && (bits & reason.bit) != 0;
    });
}

std::optional<double> power_share(const wire::GpuInventory& gpu, const wire::GpuSample& sample) {
    if (!gpu.power_limit_w || *gpu.power_limit_w <= 0 || !sample.power_w) {
        return std::nullopt;
    }
    return *sample.power_w / *gpu.power_limit_w;
}

std::string whole(const std::optional<double>& value) {
    return decimal(value.value_or(0), 0);
}

} // namespace

void FindingWatch::see_gpus(Node& node, const wire::Sample& sample) {
    std::map<int, std::int64_t> low_since;
    for (std::size_t i = 0; i < node.facts.gpus.size(); ++i) {
        const auto& gpu = node.facts.gpus[i];
        const auto share = i < sample.gpus.size() ? power_share(gpu, sample.gpus[i]) : std::nullopt;
        if (share && *share < low_power_share &&
            sample.gpus[i].utilization_percent.value_or(0) >= busy_percent) {
            const auto known = node.low_since.find(gpu.index);
            low_since[gpu.index] = known == node.low_since.end() ? sample.clock_ms : known->second;
        }
    }
    node.low_since = std::move(low_since);
}

// Of all its GPUs: what they do in the mean, and the slowest one's clock, for which the others wait.
FindingWatch::Minute FindingWatch::look_at(const Node& node, const std::vector<int>& gpus) {
    Minute look;
    double count = 0;
    const auto add = [](std::optional<double>& sum, const std::optional<double>& value, bool first) {
        sum = value && (first || sum) ? std::optional(sum.value_or(0) + *value) : std::nullopt;
    };
    for (const auto index : gpus) {
        const auto* gpu = gpu_at(node.facts, node.sample, index);
        if (gpu == nullptr) {
            return {};
        }
        const bool first = count == 0;
        add(look.utilization, gpu->utilization_percent, first);
        add(look.power_share,
            power_share(*std::ranges::find(node.facts.gpus, index, &wire::GpuInventory::index), *gpu), first);
        add(look.power_w, gpu->power_w, first);
        look.clock_mhz =
            gpu->clock_mhz && (first || look.clock_mhz)
                ? std::optional(std::min(look.clock_mhz.value_or(*gpu->clock_mhz), *gpu->clock_mhz))
                : std::nullopt;
        ++count;
    }
    for (auto* sum : {&look.utilization, &look.power_share, &look.power_w}) {
        *sum = *sum ? std::optional(**sum / count) : std::nullopt;
    }
    return look;
}

void FindingWatch::see_rank(Node& node, const wire::RankSample& sample, std::optional<double> cpus,
                            std::int64_t clock_ms) {
    auto& rank = node.ranks[{sample.job, sample.rank}];
    rank.seen = true;
    auto now = look_at(node, sample.gpus);
    now.clock_ms = clock_ms;
    now.cpus = cpus;
    rank.last.push_back(now);
    while (rank.last.size() > most_looks ||
           (rank.last.size() > 1 && rank.last[1].clock_ms <= clock_ms - slow_rank_ms)) {
        rank.last.pop_front();
    }
    const auto minute = clock_ms / 60'000;
    if (rank.least.empty() || rank.least.back().first != minute) {
        rank.least.emplace_back(minute, sample.memory_bytes);
    }
    rank.least.back().second = std::min(rank.least.back().second, sample.memory_bytes);
    while (rank.least.size() > growing_minutes + 1) {
        rank.least.pop_front();
    }
}

void FindingWatch::hear(const std::string& name, const wire::SampleFacts& facts, const wire::Sample& sample) {
    auto& node = nodes_[name];
    if (sample.clock_ms <= node.sample.clock_ms) { // it has begun anew
        node = {};
    }
    const bool same_facts = node.facts == facts;
    const auto rates = same_facts ? rates_between(facts, node.sample, sample) : NodeRates{};
    node.facts = facts;
    node.sample = sample;
    see_gpus(node, sample);
    for (auto& [place, rank] : node.ranks) {
        rank.seen = false;
    }
    for (std::size_t i = 0; i < sample.ranks.size(); ++i) {
        if (sample.ranks[i].rank >= 0) {
            see_rank(node, sample.ranks[i], same_facts ? rates.rank_cpus[i] : std::nullopt, sample.clock_ms);
        }
    }
    std::erase_if(node.ranks, [](const auto& one) { return !one.second.seen; });
}

void FindingWatch::add_gpus(std::vector<Finding>& found) const {
    for (const auto& [name, node] : nodes_) {
        for (std::size_t i = 0; i < node.sample.gpus.size() && i < node.facts.gpus.size(); ++i) {
            const auto& gpu = node.facts.gpus[i];
            const auto& sample = node.sample.gpus[i];
            const auto since = node.low_since.find(gpu.index);
            if (since != node.low_since.end() && node.sample.clock_ms - since->second >= low_power_ms) {
                found.push_back(
                    {.kind = Finding::Kind::low_power,
                     .node = name,
                     .gpu = gpu.index,
                     .for_ms = node.sample.clock_ms - since->second,
                     .about = whole(sample.power_w) + " W of " + whole(gpu.power_limit_w) + " W"});
            }
            const auto throttle = sample.throttle.value_or(0);
            const bool hot = is_thermal(throttle);
            if (hot || (throttle & hardware_bits) != 0) {
                auto about = sample.temperature_c ? whole(sample.temperature_c) + " °C" : std::string();
                if (sample.clock_mhz && gpu.most_clock_mhz) {
                    about += (about.empty() ? "" : ", ") + whole(sample.clock_mhz) + " of " +
                             whole(gpu.most_clock_mhz) + " MHz";
                }
                found.push_back({.kind = hot ? Finding::Kind::thermal : Finding::Kind::hw_slowdown,
                                 .node = name,
                                 .gpu = gpu.index,
                                 .about = std::move(about)});
            }
            if (sample == wire::GpuSample{}) { // and of others there are some
                found.push_back(
                    {.kind = Finding::Kind::no_figures,
                     .node = name,
                     .gpu = gpu.index,
                     .about = "nvidia-smi no longer reports it: look for Xid errors in the host's dmesg"});
            }
        }
        if (!node.facts.gpu_problem.empty()) {
            found.push_back(
                {.kind = Finding::Kind::no_figures, .node = name, .about = node.facts.gpu_problem});
        }
    }
}

std::optional<FindingWatch::Minute> FindingWatch::mean_of(const Rank& rank) {
    if (rank.last.size() < 2 || rank.last.back().clock_ms - rank.last.front().clock_ms < slow_rank_ms) {
        return std::nullopt;
    }
    Minute mean;
    for (auto member :
         {&Minute::utilization, &Minute::power_share, &Minute::power_w, &Minute::clock_mhz, &Minute::cpus}) {
        Mean of_all;
        for (const auto& look : rank.last) {
            of_all.add(look.*member);
        }
        mean.*member = of_all.value();
    }
    return mean;
}

// A rank that computes while the others wait for it is busy, and they are less: by power where their kernels
// spin, by utilisation or CPU time where they sleep. One whose GPU has a lower clock is slow for that.
std::optional<Finding> FindingWatch::odd_one(const std::string& job, const std::vector<Compared>& ranks) {
    const auto all_have = [&](auto member) {
        return std::ranges::all_of(ranks,
                                   [&](const Compared& one) { return (one.mean.*member).has_value(); });
    };
    const auto finding = [&](const Compared& rank, std::string about) {
        return Finding{.kind = Finding::Kind::slow_rank,
                       .node = rank.node,
                       .job = job,
                       .rank = rank.rank,
                       .about = std::move(about)};
    };
    const auto by = [](auto member) { return [member](const Compared& one) { return *(one.mean.*member); }; };
    auto sorted = ranks;
    const bool in_use = all_have(&Minute::utilization) && std::ranges::all_of(ranks, [](const Compared& one) {
                            return *one.mean.utilization >= least_clock_use;
                        });
    if (in_use && all_have(&Minute::clock_mhz)) {
        std::ranges::sort(sorted, {}, by(&Minute::clock_mhz));
        const auto median = *sorted[sorted.size() / 2].mean.clock_mhz;
        if (*sorted[0].mean.clock_mhz < slow_clock_share * median &&
            *sorted[1].mean.clock_mhz >= slow_clock_share * median) {
            return finding(sorted[0], "its GPU runs at " + whole(sorted[0].mean.clock_mhz) +
                                          " MHz, the others at " + whole(median));
        }
    }
    const auto ahead = [&](auto member, double least) {
        std::ranges::sort(sorted, std::ranges::greater{}, by(member));
        const auto most = *(sorted[0].mean.*member);
        return most >= least && *(sorted[1].mean.*member) <= waits_share * most;
    };
    if (in_use && all_have(&Minute::power_share)) {
        if (ahead(&Minute::power_share, low_power_share)) {
            return finding(sorted[0], "it works at " + whole(sorted[0].mean.power_w) +
                                          " W while the others wait, at " + whole(sorted[1].mean.power_w) +
                                          " W or less");
        }
    } else if (all_have(&Minute::utilization)) {
        constexpr double least_utilization = 80;
        if (ahead(&Minute::utilization, least_utilization)) {
            return finding(sorted[0], "its GPU is busy for " + whole(sorted[0].mean.utilization) +
                                          " % of the time, the others' for " +
                                          whole(sorted[1].mean.utilization) + " % or less");
        }
    } else if (all_have(&Minute::cpus) && std::ranges::none_of(ranks, [](const Compared& one) {
                   return one.mean.utilization.has_value();
               })) {
        constexpr double least_cpus = 0.8;
        if (ahead(&Minute::cpus, least_cpus)) {
            return finding(sorted[0], "it keeps " + decimal(*sorted[0].mean.cpus, 1) +
                                          " CPUs busy, the others " + decimal(*sorted[1].mean.cpus, 1) +
                                          " or less");
        }
    }
    return std::nullopt;
}

void FindingWatch::add_slow_ranks(std::vector<Finding>& found) const {
    std::map<std::string, std::vector<Compared>> jobs;
    std::map<std::string, bool> young; // one of its ranks has not run for long enough
    for (const auto& [name, node] : nodes_) {
        for (const auto& [place, rank] : node.ranks) {
            const auto mean = mean_of(rank);
            young[place.first] = young[place.first] || !mean;
            if (mean) {
                jobs[place.first].push_back({.node = name, .rank = place.second, .mean = *mean});
            }
        }
    }
    for (const auto& [job, ranks] : jobs) {
        if (ranks.size() >= least_compared_ranks && !young[job]) {
            if (auto odd = odd_one(job, ranks)) {
                found.push_back(std::move(*odd));
            }
        }
    }
}

void FindingWatch::add_memory(std::vector<Finding>& found) const {
    for (const auto& [name, node] : nodes_) {
        for (const auto& [place, rank] : node.ranks) {
            const auto& least = rank.least;
            const bool grows = least.size() == growing_minutes + 1 &&
                               std::ranges::adjacent_find(least, [](auto a, auto b) {
                                   return b.second <= a.second || b.first != a.first + 1;
                               }) == least.end();
            if (!grows || least.back().second - least.front().second < least_growth) {
                continue;
            }
            const auto growth = least.back().second - least.front().second;
            auto about = format_size(Bytes{growth}) + " more in " + std::to_string(growing_minutes) + " min";
            if (node.facts.memory_bytes && node.sample.memory_bytes) {
                const auto free =
                    *node.facts.memory_bytes - std::min(*node.sample.memory_bytes, *node.facts.memory_bytes);
                const auto minutes =
                    static_cast<double>(free) / static_cast<double>(growth) * growing_minutes;
                about += ": at this pace the node's memory is full in " +
                         format_age(std::chrono::seconds(static_cast<std::int64_t>(minutes * 60)));
            }
            found.push_back({.kind = Finding::Kind::memory_grows,
                             .node = name,
                             .job = place.first,
                             .rank = place.second,
                             .about = std::move(about)});
        }
    }
}

void FindingWatch::add_disks(std::vector<Finding>& found) const {
    for (const auto& [name, node] : nodes_) {
        for (std::size_t i = 0; i < node.facts.disks.size() && i < node.sample.disk_bytes.size(); ++i) {
            const auto& disk = node.facts.disks[i];
            const auto used = node.sample.disk_bytes[i];
            if (!used || !disk.size_bytes || *disk.size_bytes == 0 ||
                static_cast<double>(*used) < full_disk_share * static_cast<double>(*disk.size_bytes)) {
                continue;
            }
            const auto free = *disk.size_bytes - std::min(*used, *disk.size_bytes);
            found.push_back(
                {.kind = Finding::Kind::disk_full,
                 .node = name,
                 .disk = disk.path,
                 .about = format_size(Bytes{free}) + " left of " + format_size(Bytes{*disk.size_bytes})});
        }
    }
}

std::vector<Finding> FindingWatch::findings() const {
    std::vector<Finding> found;
    add_gpus(found);
    add_slow_ranks(found);
    add_memory(found);
    add_disks(found);
    sort_findings(found);
    return found;
}

void sort_findings(std::vector<Finding>& findings) {
    std::ranges::sort(findings, {}, [](const Finding& one) {
        return std::tie(one.kind, one.node, one.gpu, one.job, one.rank, one.disk);
    });
}

} // namespace dockdist
