// How busy a node is: what nvidia-smi tells the sampler over and over, what /proc tells it, and what comes of
// it to the client.
#include "shared/wire/sample.hpp"

#include "fuzz/fuzz.hpp"
#include "node/sampler/host_counters.hpp"
#include "node/sampler/rank_watch.hpp"
#include "shared/gpu/gpu_figures.hpp"
#include "shared/load/findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace {

using namespace dockdist;

constexpr std::size_t most_findings =
    3 * wire::most_sampled_gpus + 2 * wire::most_sampled_ranks + wire::most_sampled_items + 1;

// Facts, and the samples that are of them.
void samples(std::string_view lines) {
    wire::SampleReader reader;
    FindingWatch watch;
    while (!lines.empty()) {
        const auto end = std::min(lines.find('\n'), lines.size());
        const auto sample = reader.hear(lines.substr(0, end));
        lines.remove_prefix(std::min(end + 1, lines.size()));
        const auto& facts = reader.facts();
        fuzz::require(facts.gpus.size() <= wire::most_sampled_gpus &&
                          facts.network.size() <= wire::most_sampled_items,
                      "what is there is bounded");
        if (!sample) {
            fuzz::require(fuzz::has_no_controls(sample.error().message), "no message has controls in it");
        } else if (*sample) {
            wire::SampleReader other;
            fuzz::require(other.hear(wire::facts_line(facts)).has_value(), "facts can be sent again");
            const auto line = wire::sample_line(**sample);
            const auto again = other.hear(line);
            fuzz::require(again.has_value() && again->has_value(), "a sample can be sent again");
            fuzz::require_equal(line, wire::sample_line(**again), "and says the same");
            fuzz::require((*sample)->network.size() == facts.network.size() &&
                              ((*sample)->gpus.empty() || (*sample)->gpus.size() == facts.gpus.size()) &&
                              (*sample)->ranks.size() <= wire::most_sampled_ranks,
                          "columns are those of the facts");
            watch.hear("node-0", facts, **sample);
            fuzz::require(findings_text(watch.findings()).size() <= most_findings,
                          "what is said of it is bounded");
        }
    }
}

void gpu_line(std::string_view line) {
    if (const auto told = parse_gpu_figures(line)) {
        const auto is_sound = [](const std::optional<double>& value) {
            return !value || (std::isfinite(*value) && *value >= 0);
        };
        fuzz::require(told->gpu.index >= 0 && is_sound(told->gpu.power_limit_w) &&
                          is_sound(told->figures.utilization_percent) && is_sound(told->figures.power_w),
                      "a figure is one");
    }
}

void proc_files(std::string_view text) {
    (void)node::parse_busy_ticks(text);
    (void)node::parse_meminfo(text);
    (void)node::parse_diskstats(text);
    (void)node::parse_net_dev(text);
    for (const auto& path : node::watched_mounts(text)) {
        fuzz::require(fuzz::has_no_controls(path), "a mount point is a line");
    }
}

void environs(std::string_view block) {
    const auto mark = node::process_mark(block);
    const std::vector<wire::GpuInventory> gpus{{.index = 0, .uuid = "GPU-a"}, {.index = 5, .uuid = "GPU-b"}};
    for (const auto& numbers : {mark.numbers, mark.by_others}) {
        fuzz::require(numbers.rank >= -1 && numbers.local_rank >= -1, "a rank is one or none");
    }
    fuzz::require(node::gpus_of(mark, gpus).size() <= gpus.size(), "it has no more GPUs than there are");
}

constexpr std::array<fuzz::Read, 4> kinds{samples, gpu_line, proc_files, environs};

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    const auto lines = wire::facts_line({.cpus = 2,
                                         .gpus = {{.uuid = "GPU-a", .memory_bytes = 5, .power_limit_w = 700}},
                                         .disks = {{.path = "/", .size_bytes = 9}},
                                         .network = {"eth0"}}) +
                       wire::sample_line({.clock_ms = 5,
                                          .cpu_ms = 7,
                                          .disk_bytes = {8},
                                          .network = {{.received = 1}},
                                          .gpus = {{.utilization_percent = 99.5, .throttle = 4}},
                                          .ranks = {{.job = "j", .rank = 0, .pid = 3, .gpus = {0}}}});
    using namespace std::string_literals;
    return {
        of_kind(0, lines),
        of_kind(1, "3, GPU-d, H100, 550.1, Disabled, 81559, 700.00, 1980, 100, 72345, 612.3, 61, 1755, 0x24"),
        of_kind(2, "cpu  10 1 20 1000 500 3 4 5 7 8\n"),
        of_kind(2, "MemTotal: 1000 kB\nMemAvailable: 400 kB\n  eth0:1 1 0 0 0 0 0 0 6 1\n"),
        of_kind(2, "21 1 0:50 / /a\\040b rw - overlay overlay rw\n   8  0 sda 1 2 10 4 5 6 20 8 0 9 10\n"),
        of_kind(3,
                "DOCKDIST_JOB=j\0RANK=3\0LOCAL_RANK=1\0LOCAL_WORLD_SIZE=2\0CUDA_VISIBLE_DEVICES=GPU-b,0\0"s)};
}
