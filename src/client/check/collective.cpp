#include "client/check/collective.hpp"

#include "client/async/run_all.hpp"
#include "client/check/collective_rows.hpp"
#include "client/check/probe_stages.hpp"
#include "client/report/step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace dockdist {
namespace {

class Collective {
public:
    Collective(const std::vector<ReadyNode>& nodes, const Engines& engines,
               std::optional<std::chrono::milliseconds> stage_timeout, Reporter& reporter,
               CheckReport& report)
        : nodes_(nodes), engines_(engines), stage_timeout_(stage_timeout), reporter_(reporter),
          report_(report) {}

    Task<void> run();

private:
    // Of its groups, side by side. Tells the faults and the measurements.
    Task<std::vector<ProbeWorld>> run_stage(ProbeStage stage);
    void add(std::vector<CheckRow> rows) { std::ranges::move(rows, std::back_inserter(report_.rows)); }
    bool without_gpus(std::vector<std::size_t>& with_gpus);

    const std::vector<ReadyNode>& nodes_;
    const Engines& engines_;
    std::optional<std::chrono::milliseconds> stage_timeout_;
    Reporter& reporter_;
    CheckReport& report_;
};

Task<std::vector<ProbeWorld>> Collective::run_stage(ProbeStage stage) {
    std::vector<Task<ProbeWorld>> worlds;
    for (const auto& group : stage.groups) {
        std::vector<ProbeNode> members;
        for (const auto place : group) {
            const auto& node = nodes_[place];
            members.push_back({.node = &node,
                               .engine = engines_[node.host].get(),
                               .place = place,
                               .gpus = std::min(node.record.gpus, wire::most_probes)});
        }
        worlds.push_back(
            run_probes(std::move(members), stage.order, stage_timeout_.value_or(stage.deadline)));
    }
    Step step(reporter_, "nccl", "all nodes", "measure NCCL: " + stage.name);
    auto done = co_await run_all(std::move(worlds));
    const bool complete = std::ranges::all_of(done, &ProbeWorld::complete);
    complete ? step.finished("NCCL measured: " + stage.name) : step.failed("NCCL failed: " + stage.name);
    std::vector<CheckRow> faults;
    for (const auto& world : done) {
        std::ranges::move(judge_faults(report_.nodes, stage.name, world), std::back_inserter(faults));
        std::ranges::move(measurements_of(world), std::back_inserter(report_.collectives));
    }
    add(join_alike(report_.nodes, std::move(faults)));
    co_return done;
}

// Tells of the nodes that have none.
bool Collective::without_gpus(std::vector<std::size_t>& with_gpus) {
    std::string without;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].record.gpus > 0) {
            with_gpus.push_back(i);
        } else {
            without += (without.empty() ? "" : ", ") + nodes_[i].name.str();
        }
    }
    CheckRow row{.layer = CheckLayer::collective, .subject = "all nodes", .check = "nccl"};
    if (with_gpus.empty()) {
        row.text = "no node has a GPU: there is nothing to measure with NCCL";
        add({row});
    } else if (!without.empty()) {
        row.state = CheckRow::State::warn;
        row.subject = without;
        row.text = "left out: without a GPU";
        row.hint = "give every node of a GPU job its GPUs (`gpus:` of its host)";
        add({row});
    }
    return with_gpus.empty();
}

Task<void> Collective::run() {
    std::vector<std::size_t> with_gpus;
    if (without_gpus(with_gpus)) {
        co_return;
    }
    const auto alone = co_await run_stage(alone_stage(with_gpus));
    add(judge_alone(report_.nodes, alone));
    std::vector<std::size_t> sound;
    for (const auto& world : alone) {
        if (world.complete()) {
            sound.push_back(world.nodes.front());
        }
    }
    if (sound.size() < 2) {
        co_return;
    }
    std::vector<ProbeWorld> pairs;
    for (auto& stage : pair_stages(sound)) {
        std::ranges::move(co_await run_stage(std::move(stage)), std::back_inserter(pairs));
    }
    add(judge_pairs(report_.nodes, pairs));
    const auto all = co_await run_stage(all_stage(sound));
    for (const auto& world : all) {
        add(judge_all(report_.nodes, world));
        add(judge_transport(report_.nodes, world));
    }
}

} // namespace

Task<void> check_collective(const std::vector<ReadyNode>& nodes, const Engines& engines,
                            std::optional<std::chrono::milliseconds> stage_timeout, Reporter& reporter,
                            CheckReport& report) {
    Collective collective(nodes, engines, stage_timeout, reporter, report);
    co_await collective.run();
}

} // namespace dockdist
