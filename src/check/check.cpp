#include "check/check.hpp"

#include "async/run_all.hpp"
#include "async/with_timeout.hpp"
#include "check/collective.hpp"
#include "check/engine_row.hpp"
#include "check/links.hpp"
#include "check/peers.hpp"
#include "core/text.hpp"
#include "engine/exec_command.hpp"
#include "plan/plan.hpp"
#include "report/step.hpp"
#include "wire/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using State = CheckRow::State;

struct GpuFinding {
    CheckRow row{};
    std::optional<NodeGpus> gpus{};
};

std::string first_line(const CommandResult& result) {
    const auto& said = result.err.empty() ? result.out : result.err;
    return printable(said.substr(0, said.find('\n')));
}

Task<Result<CommandResult>> run_in_node(ContainerEngine& engine, const ReadyNode& node,
                                        std::vector<std::string> command) {
    ExecConfig config;
    config.command = {layout::init, "with-environment", "--"};
    config.command.insert(config.command.end(), std::make_move_iterator(command.begin()),
                          std::make_move_iterator(command.end()));
    config.user = "0:0";
    co_return co_await with_timeout(run_command(engine, node.id, std::move(config)), 20s,
                                    Error{ErrorKind::timeout, node.name.str(), "no answer within 20 s", ""});
}

bool asks_for_gpus(const GpuSpec& gpus) {
    return gpus.kind != GpuSpec::Kind::none && !(gpus.kind == GpuSpec::Kind::count && gpus.count == 0);
}

// How many GPUs the node must see at least.
std::size_t wanted_gpus(const GpuSpec& gpus) {
    switch (gpus.kind) {
    case GpuSpec::Kind::count:
        return static_cast<std::size_t>(gpus.count);
    case GpuSpec::Kind::devices:
        return gpus.devices.size();
    default:
        return 1;
    }
}

CheckRow judge_gpus(const NodeSpec& node, const Result<CommandResult>& answer,
                    std::optional<NodeGpus>& gpus) {
    CheckRow row{.layer = CheckLayer::host, .subject = node.name.str(), .check = "gpus"};
    const auto fail = [&](std::string text, std::string hint) {
        row.state = State::fail;
        row.text = std::move(text);
        row.hint = std::move(hint);
        return row;
    };
    if (!answer) {
        return fail("nvidia-smi gave no answer: " + answer.error().message,
                    "look at the host: does nvidia-smi hang there too?");
    }
    if (answer->exit_code == 126 || answer->exit_code == 127) {
        return fail("no nvidia-smi in the container",
                    "is the NVIDIA driver on the host, and the NVIDIA Container Toolkit newer than 1.0?");
    }
    if (answer->exit_code != 0) {
        return fail(
            "the GPUs are not usable in the running container: " + first_line(*answer),
            "a `systemctl daemon-reload` on the host takes GPUs from running containers: make the node anew "
            "with "
            "`dockdist down` and `dockdist up`; if it fails on the host as well, the driver is at fault");
    }
    auto parsed = parse_gpus(answer->out);
    if (!parsed) {
        return fail(parsed.error().message, "");
    }
    const auto wanted = wanted_gpus(node.gpus);
    if (parsed->size() < wanted) {
        return fail(fmt::format("{} of {} GPUs are visible", parsed->size(), wanted),
                    "a GPU may have fallen off the bus: see dmesg on the host for Xid errors");
    }
    row.text = fmt::format("{} × {}", parsed->size(), parsed->front().name);
    gpus = NodeGpus{.node = node.name, .gpus = std::move(*parsed)};
    return row;
}

Task<GpuFinding> check_gpus(ContainerEngine& engine, const ReadyNode& node, const NodeSpec& wanted) {
    if (!asks_for_gpus(wanted.gpus)) {
        co_return GpuFinding{.row = {.layer = CheckLayer::host,
                                     .subject = node.name.str(),
                                     .check = "gpus",
                                     .text = "none asked for"}};
    }
    std::vector<Task<Result<CommandResult>>> commands;
    commands.push_back(run_in_node(engine, node, gpu_query()));
    commands.push_back(run_in_node(engine, node, {"nvidia-smi"}));
    const auto answers = co_await run_all(std::move(commands));
    GpuFinding finding;
    finding.row = judge_gpus(wanted, answers[0], finding.gpus);
    if (finding.gpus && answers[1]) {
        finding.gpus->cuda = parse_cuda_version(answers[1]->out);
    }
    co_return finding;
}

Task<CheckRow> check_ssh(ContainerEngine& engine, const ReadyNode& node) {
    CheckRow row{.layer = CheckLayer::network, .subject = node.name.str(), .check = "ssh"};
    const auto answer = co_await run_in_node(engine, node, {layout::init, "check-peers"});
    if (!answer || answer->exit_code > 1) {
        row.state = State::fail;
        row.text = "could not be tried: " + (answer ? first_line(*answer) : answer.error().message);
        row.hint = "run `dockdist up` to join the nodes again";
        co_return row;
    }
    judge_peers(parse_peers(answer->out), row);
    co_return row;
}

Task<std::vector<CheckRow>> not_reached(const HostSpec& host, const Errors& errors) {
    CheckRow row{.state = State::fail, .subject = host.name.str(), .check = "engine"};
    const auto error = std::ranges::find(errors, host_label(host), &Error::where);
    row.text = error == errors.end() ? "not reached" : error->message;
    row.hint = error == errors.end() ? "" : error->hint;
    co_return std::vector{std::move(row)};
}

// All hosts' engines, then all clocks.
Task<void> add_host_rows(const ClusterSpec& spec, const Engines& engines, const Observation& observation,
                         CheckReport& report) {
    std::vector<Task<std::vector<CheckRow>>> checks;
    for (std::size_t i = 0; i < spec.hosts.size(); ++i) {
        checks.push_back(observation.reached[i] ? check_engine(spec, spec.hosts[i], *engines[i])
                                                : not_reached(spec.hosts[i], observation.errors));
    }
    const auto answers = co_await run_all(std::move(checks));
    for (const auto* layer : {"engine", "clock"}) {
        for (const auto& rows : answers) {
            std::ranges::copy_if(rows, std::back_inserter(report.rows),
                                 [&](const CheckRow& row) { return row.check == layer; });
        }
    }
}

void add_container_rows(const ClusterSpec& spec, const Observation& observation, CheckReport& report) {
    for (const auto& node : expand_nodes(spec)) {
        if (!observation.reached[node.host]) {
            continue;
        }
        CheckRow row{.layer = CheckLayer::container, .subject = node.name.str(), .check = "container"};
        const auto& there = observation.cluster.hosts[node.host].nodes;
        const auto found = std::ranges::find(there, node.name, &ObservedNode::node);
        if (found != there.end() && found->record) {
            row.text = fmt::format("ready at {} ({}), ssh port {}", found->record->address,
                                   found->record->interface, found->record->ssh_port);
        } else {
            row.state = State::fail;
            row.text = found == there.end() ? "the node is not up" : "the node is not ready";
            row.hint = "run `dockdist up`";
        }
        report.rows.push_back(std::move(row));
    }
}

} // namespace

bool CheckReport::passed() const {
    return std::ranges::none_of(rows, [](const CheckRow& row) { return row.state == State::fail; });
}

Task<CheckReport> check_cluster(const ClusterSpec& spec, const Engines& engines, CheckOptions options,
                                Reporter& reporter) {
    const auto observation = co_await observe(spec, engines, "", reporter);
    CheckReport report;
    co_await add_host_rows(spec, engines, observation, report);
    add_container_rows(spec, observation, report);
    const auto ready = ready_nodes(spec, observation.cluster);
    const auto wanted = expand_nodes(spec);
    std::vector<Task<GpuFinding>> gpu_checks;
    std::vector<Task<CheckRow>> ssh_checks;
    for (const auto& node : ready.nodes) {
        auto& engine = *engines[node.host];
        gpu_checks.push_back(
            check_gpus(engine, node, *std::ranges::find(wanted, node.name, &NodeSpec::name)));
        ssh_checks.push_back(check_ssh(engine, node));
    }
    for (auto& finding : co_await run_all(std::move(gpu_checks))) {
        report.rows.push_back(std::move(finding.row));
        if (finding.gpus) {
            report.gpus.push_back(std::move(*finding.gpus));
        }
    }
    for (auto& row : co_await run_all(std::move(ssh_checks))) {
        report.rows.push_back(std::move(row));
    }
    for (const auto& node : ready.nodes) {
        report.nodes.push_back(node.name);
    }
    const auto sessions = co_await open_sessions(engines, ready.nodes, report.rows);
    Links links(sessions);
    co_await links.meet(report);
    if (options.deep) {
        co_await links.measure(reporter, report);
        co_await check_collective(ready.nodes, engines, options.stage_timeout, reporter, report);
    }
    co_return report;
}

} // namespace dockdist
