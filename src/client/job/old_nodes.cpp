#include "client/job/old_nodes.hpp"

#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/exec_command.hpp"
#include "client/job/running_jobs.hpp"
#include "shared/gpu/smi.hpp"
#include "shared/gpu/units.hpp"
#include "shared/wire/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace dockdist {
namespace {

constexpr std::chrono::seconds smi_limit{10};

Task<std::string> output_of(ContainerEngine& engine, ContainerId id, std::vector<std::string> command) {
    ExecConfig config;
    config.command = std::move(command);
    config.user = fmt::format("{0}:{0}", layout::id_apart); // its PATH may begin with a folder of a job's
    const auto answer =
        co_await with_timeout(run_command(engine, id, std::move(config)), smi_limit,
                              Error{ErrorKind::timeout, "", "nvidia-smi does not answer", ""});
    co_return answer && answer->exit_code == 0 ? answer->out : "";
}

// As its own nvidia-smi counts them, by the UUIDs that every node of the host tells.
Task<std::vector<wire::GpuUnit>> units_seen_in(ContainerEngine& engine, ContainerId id) {
    SeenGpus seen;
    if (auto gpus = parse_gpus(co_await output_of(engine, id, smi_argv(SmiQuestion::gpus)))) {
        seen.gpus = std::move(*gpus);
    }
    if (std::ranges::any_of(seen.gpus, &Gpu::mig)) {
        seen.instances = parse_mig(co_await output_of(engine, id, smi_argv(SmiQuestion::listing)));
    }
    co_return units_of(seen);
}

Task<std::vector<wire::GpuHold>> held_in(const Engines& engines, std::size_t host, Neighbour node) {
    std::vector<wire::GpuHold> holds;
    const std::vector<ReadyNode> door{{NodeName(node.node), node.id, host, {}}};
    const auto there = co_await find_running_jobs(engines, door);
    if (there.jobs.empty()) {
        co_return holds;
    }
    const auto& job = there.jobs.front(); // it has them all, as any other job of its node
    for (auto& unit : co_await units_seen_in(*engines[host], node.id)) {
        holds.push_back({.unit = std::move(unit),
                         .by = {.cluster = node.cluster,
                                .node = node.node,
                                .job = job.job.str(),
                                .owner = node.owner,
                                .age_s = job.age_ms / 1000}});
    }
    co_return holds;
}

} // namespace

Task<std::vector<std::vector<wire::GpuHold>>> held_in_old_nodes(const Engines& engines,
                                                                const ObservedCluster& observed) {
    std::vector<std::size_t> hosts;
    std::vector<Task<std::vector<wire::GpuHold>>> tasks;
    for (std::size_t host = 0; host < observed.hosts.size(); ++host) {
        for (const auto& node : observed.hosts[host].neighbours) {
            if (node.old && node.state == ContainerState::running) {
                hosts.push_back(host);
                tasks.push_back(held_in(engines, host, node));
            }
        }
    }
    auto found = co_await run_all(std::move(tasks));
    std::vector<std::vector<wire::GpuHold>> holds(observed.hosts.size());
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        std::ranges::move(found[i], std::back_inserter(holds[hosts[i]]));
    }
    co_return holds;
}

} // namespace dockdist
