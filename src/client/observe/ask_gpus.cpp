#include "client/observe/ask_gpus.hpp"

#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/exec_command.hpp"
#include "client/observe/follow_lines.hpp"
#include "client/observe/node_command.hpp"
#include "client/observe/while_asked.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <tuple>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto report_limit = 30s; // nvidia-smi hangs where a GPU has fallen off its bus

ExecConfig gpus_command(std::int64_t in_use_mib) {
    return node_command({"gpus", "--in-use", std::to_string(in_use_mib)});
}

Error does_not_say(const std::string& said) {
    return {ErrorKind::node, "",
            "the node does not say which GPUs it has" + (said.empty() ? "" : ": " + printable(said)),
            "see `dockdist status`; a node of an older dockdist is recreated by `dockdist up`"};
}

// Two round trips: what it ends with is of no interest.
Task<Result<wire::GpuReport>> ask_one(ContainerEngine& engine, ContainerId id, std::int64_t in_use_mib) {
    auto exec = co_await start_command(engine, id, gpus_command(in_use_mib));
    CO_TRY(exec);
    ExecLines lines(std::move(*exec));
    const auto line = co_await lines.next_line();
    CO_TRY(line);
    co_return *line ? wire::parse_gpu_report(**line) : does_not_say(lines.err());
}

} // namespace

Task<std::vector<Result<wire::GpuReport>>> ask_gpus(const Engines& engines,
                                                    const std::vector<ReadyNode>& nodes,
                                                    std::int64_t in_use_mib, Reporter* reporter) {
    std::vector<Task<Result<wire::GpuReport>>> tasks;
    for (const auto& node : nodes) {
        tasks.push_back(with_timeout(
            while_asked(reporter, node.name.str(), ask_one(*engines[node.host], node.id, in_use_mib)),
            report_limit,
            Error{ErrorKind::timeout, "", "the node does not say which GPUs it has",
                  "does nvidia-smi hang on the host?"}));
    }
    auto reports = co_await run_all(std::move(tasks));
    name_nodes(reports, nodes);
    co_return reports;
}

Task<Error> follow_gpus(ContainerEngine& engine, const ReadyNode& node, std::int64_t in_use_mib,
                        std::function<void(wire::GpuReport)> hear) {
    FollowedLines followed{.command = gpus_command(in_use_mib).command, .at_end = does_not_say("")};
    followed.command.emplace_back("--watch");
    followed.hear = [&](std::string_view line) -> Status {
        auto report = wire::parse_gpu_report(line);
        TRY(report);
        hear(std::move(*report));
        return ok;
    };
    co_return co_await follow_lines(engine, node, std::move(followed));
}

namespace {

void add_report(HostGpus& host, const wire::GpuReport& report) {
    for (const auto& unit : report.units) {
        const auto same = std::ranges::find(host.units, unit.unit.id,
                                            [](const wire::GpuFacts& facts) { return facts.unit.id; });
        if (same == host.units.end()) {
            host.units.push_back(unit);
        } else if (!same->hold) {
            same->hold = unit.hold;
        }
    }
    for (const auto& waiter : report.line) {
        const auto name = [](const wire::GpuWaiter& one) {
            return std::tie(one.who.cluster, one.who.node, one.who.job);
        };
        if (std::ranges::find(host.line, name(waiter), name) == host.line.end()) {
            host.line.push_back(waiter);
        }
    }
    if (!report.problem.empty() && std::ranges::find(host.problems, report.problem) == host.problems.end()) {
        host.problems.push_back(report.problem);
    }
}

void sort_units(HostGpus& host) {
    std::ranges::sort(host.units, {},
                      [](const wire::GpuFacts& facts) { return std::tie(facts.unit.index, facts.unit.id); });
}

} // namespace

HostGpus gpus_of_host(std::size_t host, const wire::GpuReport& report) {
    HostGpus gpus{.host = host};
    add_report(gpus, report);
    sort_units(gpus);
    return gpus;
}

std::vector<HostGpus> gpus_by_host(const std::vector<ReadyNode>& nodes,
                                   const std::vector<Result<wire::GpuReport>>& reports) {
    std::vector<HostGpus> hosts;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!reports[i]) {
            continue;
        }
        auto found = std::ranges::find(hosts, nodes[i].host, &HostGpus::host);
        if (found == hosts.end()) {
            hosts.push_back({.host = nodes[i].host});
            found = std::prev(hosts.end());
        }
        add_report(*found, *reports[i]);
    }
    std::ranges::for_each(hosts, sort_units);
    std::ranges::sort(hosts, {}, &HostGpus::host);
    return hosts;
}

} // namespace dockdist
