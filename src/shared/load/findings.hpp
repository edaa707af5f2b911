// What is to be said of how busy the nodes are: what costs a job its speed, or will end it. Pure, for client
// and node alike: all time is that of the samples.
#pragma once

#include "shared/load/rates.hpp"
#include "shared/wire/finding.hpp"
#include "shared/wire/sample.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// What each takes.
inline constexpr std::int64_t low_power_ms = 60'000;   // for so long busy
inline constexpr double low_power_share = 0.4;         // below so much of the power limit
inline constexpr double busy_percent = 99;             // at so much utilisation
inline constexpr double full_disk_share = 0.95;        // of a file system
inline constexpr int growing_minutes = 10;             // a rank's memory has grown in each of these
inline constexpr std::int64_t slow_rank_ms = 60'000;   // over which ranks are compared
inline constexpr std::size_t least_compared_ranks = 3; // so that one is odd

using wire::Finding;

class FindingWatch {
public:
    void hear(const std::string& node, const wire::SampleFacts& facts, const wire::Sample& sample);
    // The node is not heard any more.
    void forget(const std::string& node) { nodes_.erase(node); }
    // What holds now, sorted.
    std::vector<Finding> findings() const;

private:
    using Place = std::pair<std::string, int>; // job, rank
    struct Minute {                            // one look at a rank
        std::int64_t clock_ms = 0;
        std::optional<double> utilization{}, power_share{}, power_w{}, clock_mhz{}, cpus{};
    };
    struct Rank {
        std::deque<Minute> last{};                                  // slow_rank_ms of them
        std::deque<std::pair<std::int64_t, std::uint64_t>> least{}; // minute, its least memory
        bool seen = false;
    };
    struct Node {
        wire::SampleFacts facts{};
        wire::Sample sample{};
        std::map<int, std::int64_t> low_since{}; // by GPU
        std::map<Place, Rank> ranks{};
    };
    struct Compared {
        std::string node{};
        int rank = -1;
        Minute mean{};
    };

    static void see_gpus(Node& node, const wire::Sample& sample);
    static Minute look_at(const Node& node, const std::vector<int>& gpus);
    static void see_rank(Node& node, const wire::RankSample& sample, std::optional<double> cpus,
                         std::int64_t clock_ms);
    static std::optional<Minute> mean_of(const Rank& rank);
    static std::optional<Finding> odd_one(const std::string& job, const std::vector<Compared>& ranks);
    void add_gpus(std::vector<Finding>& found) const;
    void add_slow_ranks(std::vector<Finding>& found) const;
    void add_memory(std::vector<Finding>& found) const;
    void add_disks(std::vector<Finding>& found) const;

    std::map<std::string, Node> nodes_{};
};

// By kind, then in the order of the nodes' names and the GPUs.
void sort_findings(std::vector<Finding>& findings);

// A sentence each, of sorted ones; many GPUs of which the same is true share one.
std::vector<std::string> findings_text(const std::vector<Finding>& findings);
// {"kind","node","gpu","job","rank","disk","text"}; what it is not of is null.
nlohmann::json finding_json(const Finding& finding);

} // namespace dockdist
