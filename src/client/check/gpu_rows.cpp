#include "client/check/gpu_rows.hpp"

#include "client/check/compare.hpp"
#include "client/check/fabric_row.hpp"
#include "client/check/gpu_health.hpp"
#include "client/check/system_rows.hpp"
#include "client/plan/engine_abilities.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"
#include "shared/gpu/gpu.hpp"
#include "shared/gpu/smi.hpp"
#include "shared/wire/gpus.hpp"
#include "shared/wire/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dockdist {
namespace {

using State = CheckRow::State;

constexpr const char* question_gpus = "gpus";
constexpr const char* question_table = "gpu-table";

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

// "8 × NVIDIA H100", "1 × A, 7 × B".
std::string models(const std::vector<Gpu>& gpus) {
    std::map<std::string, int> counts;
    for (const auto& gpu : gpus) {
        ++counts[gpu.name];
    }
    std::string text;
    for (const auto& [name, count] : counts) {
        text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count, printable(name));
    }
    return text;
}

// Those of AMD's, by what dockdist-init reads from their driver's files.
CheckRow judge_amd(const CheckedNode& node, const GpuSpec& wanted, NodeGpus& gpus) {
    auto row = host_row(node, "gpus");
    const auto answer = output_of(node, question_gpus);
    const auto report = answer && answer->code == 0
                            ? wire::parse_gpu_report(answer->output.substr(0, answer->output.find('\n')))
                            : Result<wire::GpuReport>(Error{});
    const bool all = wanted.amd || std::ranges::any_of(wanted.devices, [](const std::string& device) {
                         return device.ends_with("=all");
                     });
    const auto least = all ? 1 : wanted.devices.size();
    if (!report || report->units.size() < least) {
        row.state = State::fail;
        row.text = fmt::format("{} of {} GPUs of AMD are visible", report ? report->units.size() : 0, least);
        row.hint = "is the amdgpu driver loaded on the host, and are /dev/kfd and /dev/dri there?";
        return row;
    }
    std::vector<std::string> problems;
    for (const auto& unit : report->units) {
        gpus.gpus.push_back({.index = unit.unit.index,
                             .uuid = unit.unit.id,
                             .name = unit.unit.name,
                             .driver = report->driver,
                             .memory_used_mib = unit.memory_used_mib,
                             .memory_total_mib = unit.memory_total_mib,
                             .utilization_percent = unit.utilization_percent,
                             .temperature_c = unit.temperature_c,
                             .power_w = unit.power_w});
        if (!unit.problem.empty()) {
            problems.push_back(printable(unit.problem));
        }
    }
    gpus.node = node.name;
    row.text = models(gpus.gpus);
    if (!problems.empty()) {
        row.state = State::warn;
        row.text += fmt::format("; {}", fmt::join(problems, "; "));
        row.hint = "look at it with `amd-smi` on the host; it is given to no job";
    }
    return row;
}

CheckRow judge_there(const CheckedNode& node, const GpuSpec& wanted, NodeGpus& gpus) {
    if (asks_for_amd(wanted)) {
        return judge_amd(node, wanted, gpus);
    }
    auto row = host_row(node, "gpus");
    const auto fail = [&](std::string text, std::string hint) {
        row.state = State::fail;
        row.text = std::move(text);
        row.hint = std::move(hint);
        return row;
    };
    const auto answer = output_of(node, question_gpus);
    if (!answer || answer->code < 0) {
        return fail("nvidia-smi gave no answer: " + (answer ? std::string("it did not finish within 12 s")
                                                            : printable(answer.error().message)),
                    "look at the host: does nvidia-smi hang there too?");
    }
    if (answer->code == exit_codes::cannot_start || answer->code == exit_codes::not_found) {
        return fail("no nvidia-smi in the container",
                    "is the NVIDIA driver on the host, and the NVIDIA Container Toolkit newer than 1.0?");
    }
    auto parsed = parse_gpus(answer->output);
    const bool told = parsed && !parsed->empty() && may_have_answered(answer->code);
    if (answer->code != 0 && !told) {
        return fail("the GPUs are not usable in the running container: " + first_line(answer->output),
                    "a `systemctl daemon-reload` on the host takes GPUs from running containers: recreate "
                    "the node with `dockdist down` and `dockdist up`; if it fails on the host as well, the "
                    "driver is at fault");
    }
    if (!parsed) {
        return fail(parsed.error().message, "look at what `dockdist exec NODE -- nvidia-smi` says");
    }
    if (const auto lost = lost_gpus(answer->output); !lost.empty()) {
        return fail(
            printable(lost.front()),
            "a GPU has fallen off the bus: see dmesg on the host for Xid errors; until it is reset, leave "
            "it out with the host's `gpus: [...]`");
    }
    const auto least = wanted_gpus(wanted);
    if (parsed->size() < least) {
        return fail(fmt::format("{} of {} GPUs are visible", parsed->size(), least),
                    "a GPU may have fallen off the bus: see dmesg on the host for Xid errors");
    }
    row.text = models(*parsed);
    if (const auto warnings = smi_warnings(answer->output); !warnings.empty() || answer->code != 0) {
        row.state = State::warn;
        row.text += "; nvidia-smi warns: " + (warnings.empty()
                                                  ? fmt::format("code {}", answer->code)
                                                  : printable(fmt::format("{}", fmt::join(warnings, "; "))));
        row.hint = "the GPUs can be used; where it is the infoROM, the GPU's own record of errors is not to "
                   "be relied "
                   "on: look at `nvidia-smi -q` on the host, and have the GPU serviced";
    }
    gpus = {.node = node.name, .gpus = std::move(*parsed)};
    if (const auto table = output_of(node, question_table)) {
        gpus.cuda = parse_cuda_version(table->output);
    }
    return row;
}

// The kinds must be the same; the counts too, where each node has all that its host has.
void compare_models(const std::vector<NodeGpus>& gpus, bool with_counts, std::vector<CheckRow>& rows) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const auto& node : gpus) {
        auto counted = models(node.gpus);
        if (!with_counts) {
            std::map<std::string, int> names;
            for (const auto& gpu : node.gpus) {
                names[printable(gpu.name)] = 1;
            }
            counted.clear();
            for (const auto& [name, unused] : names) {
                counted += (counted.empty() ? "" : ", ") + name;
            }
        }
        values.emplace_back(node.node.str(), counted);
    }
    const CheckRow model{
        .state = State::warn,
        .layer = CheckLayer::host,
        .check = "models",
        .hint = "a job is as fast as its slowest GPU, and its memory as large as the smallest: leave the "
                "odd node out with `run --exclude`, or give it a cluster.yaml of its own"};
    std::ranges::move(odd_rows(find_odd(values), model), std::back_inserter(rows));
}

void compare_drivers(const std::vector<NodeGpus>& gpus, std::vector<CheckRow>& rows) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const auto& node : gpus) {
        if (!node.gpus.empty()) {
            const auto& driver = node.gpus.front().driver;
            values.emplace_back(node.node.str(),
                                printable(driver) +
                                    (node.cuda.empty() ? "" : ", CUDA " + printable(node.cuda)));
        }
    }
    const auto odd = find_odd(values);
    const CheckRow model{
        .state = State::warn,
        .layer = CheckLayer::host,
        .check = "driver",
        .hint = "install the same driver on every host: NCCL or RCCL, and graphs, are only tested with "
                "one driver per job, not with several"};
    auto differing = odd_rows(odd, model, "driver ");
    if (!odd.with_common.empty()) {
        const bool all = differing.empty();
        rows.push_back(
            {.layer = CheckLayer::host,
             .subject = all && odd.with_common.size() > 1 ? "all nodes" : list_names(odd.with_common),
             .check = "driver",
             .text = "driver " + odd.common});
    }
    std::ranges::move(differing, std::back_inserter(rows));
}

} // namespace

bool asks_for_gpus(const GpuSpec& gpus) {
    return gpus.kind != GpuSpec::Kind::none && !(gpus.kind == GpuSpec::Kind::count && gpus.count == 0);
}

std::vector<wire::Question> gpu_questions(const GpuSpec& gpus) {
    if (asks_for_amd(gpus)) {
        return {{.name = question_gpus, .argv = {layout::init, "gpus"}}};
    }
    auto questions = gpu_health_questions();
    std::ranges::move(fabric_questions(), std::back_inserter(questions));
    questions.push_back({.name = question_gpus, .argv = smi_argv(SmiQuestion::gpus)});
    questions.push_back({.name = question_table, .argv = smi_argv(SmiQuestion::table)});
    return questions;
}

GpuFindings judge_gpus(const std::vector<CheckedNode>& nodes, const std::vector<NodeSpec>& wanted) {
    GpuFindings findings;
    std::vector<CheckRow> health;
    bool all_of_each = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto& node = nodes[i];
        if (!asks_for_gpus(wanted[i].gpus)) {
            auto row = host_row(node, "gpus");
            row.text = "none asked for";
            findings.rows.push_back(std::move(row));
            continue;
        }
        NodeGpus gpus;
        findings.rows.push_back(judge_there(node, wanted[i].gpus, gpus));
        if (findings.rows.back().state == State::fail) {
            continue;
        }
        all_of_each = all_of_each && wanted[i].gpus.kind == GpuSpec::Kind::all;
        health.push_back(judge_ecc(node, gpus.gpus));
        health.push_back(judge_gpu_memory(node, gpus.gpus));
        if (auto fabric = judge_fabric(node)) {
            health.push_back(std::move(*fabric));
        }
        findings.gpus.push_back(std::move(gpus));
    }
    compare_models(findings.gpus, all_of_each, findings.rows);
    compare_drivers(findings.gpus, findings.rows);
    for (const auto* check : {"ecc", "memory", "fabric"}) {
        std::ranges::copy_if(health, std::back_inserter(findings.rows),
                             [&](const CheckRow& row) { return row.check == check; });
    }
    return findings;
}

CheckRow judge_toolkit(const HostSpec& host, const EngineInfo& engine) {
    CheckRow row{.layer = CheckLayer::engine, .subject = host.name.str(), .check = "toolkit"};
    if (asks_for_amd(host.gpus)) {
        row.text = host.gpus.amd ? "AMD's GPUs, as devices: no toolkit is needed" : "AMD's GPUs by CDI names";
        return row;
    }
    if (uses_cdi(host, engine)) {
        const auto devices = std::ranges::count_if(
            engine.cdi_devices, [](const std::string& name) { return name.starts_with(nvidia_cdi_kind); });
        row.text = devices > 0 ? fmt::format("CDI: {} names of GPUs", devices) : std::string("CDI");
        return row;
    }
    const bool runtime = std::ranges::find(engine.runtimes, "nvidia") != engine.runtimes.end();
    row.text = runtime ? "NVIDIA's runtime is registered with the engine"
                       : "by NVIDIA's hook, no runtime registered";
    row.text += "; its version shows on the host only: `nvidia-ctk --version`, known holes up to 1.17.7";
    return row;
}

} // namespace dockdist
