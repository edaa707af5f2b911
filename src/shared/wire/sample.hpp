// What a node says of how busy it is: once what there is (SampleFacts), then a Sample every interval.
//
// `dockdist-init sample [--interval MS]` prints one object of JSON a line, as root: {"facts":{…}}
// and, for each sample, {"sample":{…}}. Facts come again where anything in them is another (nvidia-smi takes
// a while to answer; a GPU was lost), and the samples behind them are of these. It ends when its stdin does,
// or has been silent for 30 s: a byte now and then keeps it alive. The same lines stand wherever samples are
// kept.
//
// Lists in a sample are columns in the order of the facts, and null is "not known": never 0. What counts up
// (bytes, CPU time) is told as it stands; rates are reckoned of two samples (shared/load/rates.hpp). Whatever
// a host shares (CPU, memory, disks, network) is the host's, also where several nodes are on it.
#pragma once

#include "shared/core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

inline constexpr std::size_t most_sampled_gpus = 64;
inline constexpr std::size_t most_sampled_ranks = 1024;  // of all jobs of a node
inline constexpr std::size_t most_sampled_items = 64;    // file systems, interfaces, RDMA ports
inline constexpr std::size_t longest_sampled_word = 256; // bytes of a name, a path, a sentence
inline constexpr int least_sample_interval_ms = 100;
inline constexpr int most_sample_interval_ms = 3'600'000;

struct GpuInventory {
    int index = 0; // as the node's nvidia-smi counts
    std::string uuid{}, name{};
    std::vector<std::string> instances{};        // UUIDs of MIG's, whose figures are the GPU's
    std::optional<std::uint64_t> memory_bytes{}; // in all
    std::optional<double> power_limit_w{};
    std::optional<double> most_clock_mhz{}; // of its SMs
    bool operator==(const GpuInventory&) const = default;
};
struct DiskInventory {
    std::string path{}; // where it is mounted in the container
    std::optional<std::uint64_t> size_bytes{};
    bool operator==(const DiskInventory&) const = default;
};
struct SampleFacts {
    int cpus = 0;
    std::optional<std::uint64_t> memory_bytes{};
    std::string driver{};
    std::vector<GpuInventory> gpus{}; // by index
    // nvidia-smi was asked and has not answered yet: GPUs may come.
    bool asking_gpus = false;
    std::string gpu_problem{};          // a sentence: why nothing is known of them; empty: there are none
    std::vector<DiskInventory> disks{}; // file systems on the host's own disks and memory
    std::vector<std::string> network{}; // "eth0"
    std::vector<std::string> rdma{};    // "mlx5_0/1": device and port
    int interval_ms = 1000;             // of the samples
    bool operator==(const SampleFacts&) const = default;
};

// Why a GPU does not run at full clock: the bits of NVML's clocksEventReasons (nvml.h), which nvidia-smi
// prints as clocks_event_reasons.active, before driver 535 clocks_throttle_reasons.active.
struct ThrottleReason {
    std::uint64_t bit = 0;
    const char* name = ""; // nvidia-smi's: "hw_thermal_slowdown"
    const char* text = ""; // for people: "too hot (hardware)"
    bool thermal = false;
};
inline constexpr ThrottleReason throttle_reasons[] = {
    {0x1, "gpu_idle", "idle", false},
    {0x2, "applications_clocks_setting", "clocks set", false},
    {0x4, "sw_power_cap", "power limit", false},
    {0x8, "hw_slowdown", "slowed by hardware", false},
    {0x10, "sync_boost", "sync boost", false},
    {0x20, "sw_thermal_slowdown", "too hot", true},
    {0x40, "hw_thermal_slowdown", "too hot (hardware)", true},
    {0x80, "hw_power_brake_slowdown", "power brake", false},
    {0x100, "display_clock_setting", "display clocks", false},
};

struct GpuSample {
    std::optional<double> utilization_percent{};
    std::optional<std::uint64_t> memory_bytes{}; // used
    std::optional<double> power_w{};
    std::optional<double> temperature_c{};
    std::optional<double> clock_mhz{}; // of its SMs
    std::optional<std::uint64_t> throttle{};
    bool operator==(const GpuSample&) const = default;
};
struct TrafficCount { // bytes since any moment; may begin anew
    std::optional<std::uint64_t> received{}, sent{};
    bool operator==(const TrafficCount&) const = default;
};
// A rank of a job with all below it, or what else of the job runs here (its launcher): rank -1.
struct RankSample {
    std::string job{};
    int rank = -1;
    std::int64_t pid = 0;           // in the container, of the one that began first
    std::int64_t cpu_ms = 0;        // of all its processes, since it was first seen; never falls
    std::uint64_t memory_bytes = 0; // resident; what they share counts for each
    std::vector<int> gpus{};        // indices: what CUDA_VISIBLE_DEVICES and LOCAL_RANK give it
    bool operator==(const RankSample&) const = default;
};
struct Sample {
    std::int64_t at_ms = 0;                                   // since 1970, by the node's clock
    std::int64_t clock_ms = 0;                                // of the node, never goes back: for rates
    std::optional<std::int64_t> cpu_ms{};                     // busy, of all CPUs together, since any moment
    std::optional<std::uint64_t> memory_bytes{};              // used: what could not be had
    std::optional<std::uint64_t> disk_read{}, disk_written{}; // bytes of all disks, since any moment
    std::vector<std::optional<std::uint64_t>> disk_bytes{};   // used, of facts.disks
    std::vector<TrafficCount> network{}, rdma{};              // of facts.network, facts.rdma
    std::vector<GpuSample> gpus{};   // of facts.gpus; empty: nvidia-smi has said nothing for three intervals
    std::vector<RankSample> ranks{}; // by job, then rank
    bool operator==(const Sample&) const = default;
};

std::string facts_line(const SampleFacts& facts); // with '\n', as the next
std::string sample_line(const Sample& sample);

// Lines of one stream, in their order.
class SampleReader {
public:
    // The sample, or nothing where the line held facts, or something of a later version. A protocol error for
    // columns that are not those of the facts, for what is there twice (a GPU's index, a path, a name, a rank
    // of a job), and for what is beyond all bounds; of Sample::ranks each gpu is one of the facts' indices or
    // is left out.
    Result<std::optional<Sample>> hear(std::string_view line);
    const SampleFacts& facts() const { return facts_; } // the latest
    bool has_facts() const { return has_facts_; }

private:
    SampleFacts facts_{};
    bool has_facts_ = false;
};

} // namespace dockdist::wire
