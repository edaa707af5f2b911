// gpu-answers: what dockdist asks of nvidia-smi, and what it makes of the answers. scripts/gpu-day holds a
// real one's answers against it.
//
//   gpu-answers questions        {"questions":[{"name","argv","goes_on"}…],"reasons":{"hw_slowdown":8,…},
//                                "capabilities":["CHOWN",…],"order":{…}}
//                                goes_on: the sampler asks it so that it is answered over and over;
//                                capabilities: of a node's root; order: the one that a deep check gives to
//                                probes of a node alone
//   gpu-answers read             stdin: {"NAME":{"code":0,"output":"…"},…}, of the names of questions;
//                                {"gpus":…,"listing":…, …, "rows":[the check's]}
//   gpu-answers visible VALUE UUID…   how many of these GPUs CUDA_VISIBLE_DEVICES=VALUE shows, as dockdist
//   reads it
#include "client/check/checked_node.hpp"
#include "client/check/gpu_rows.hpp"
#include "client/check/probe_stages.hpp"
#include "client/plan/node_config.hpp"
#include "shared/core/text.hpp"
#include "shared/gpu/fabric.hpp"
#include "shared/gpu/gpu.hpp"
#include "shared/gpu/gpu_figures.hpp"
#include "shared/gpu/smi.hpp"
#include "shared/gpu/topology.hpp"
#include "shared/gpu/units.hpp"

#include <nlohmann/json.hpp>

#include <exception>
#include <iostream>
#include <iterator>

namespace {

using namespace dockdist;
using nlohmann::json;

constexpr const char* state_names[] = {"pass", "warn", "fail"};
constexpr const char* link_names[] = {"NV", "PIX", "PXB", "PHB", "NODE", "SYS", ""};

template <class T>
json told(const std::optional<T>& value) {
    return value ? json(*value) : json();
}

json questions() {
    auto all = json::array();
    for (const auto& [question, name, argv] : smi_commands()) {
        const bool goes_on = question == SmiQuestion::figures || question == SmiQuestion::old_figures;
        all.push_back({{"name", name},
                       {"argv", goes_on ? gpu_figures_command(1000, question) : argv},
                       {"goes_on", goes_on}});
    }
    json reasons;
    for (const auto& reason : wire::throttle_reasons) {
        reasons[reason.name] = reason.bit;
    }
    ClusterSpec spec;
    spec.hosts.push_back({.name = HostName("node-0")});
    const auto nodes = expand_nodes(spec);
    return {{"questions", std::move(all)},
            {"reasons", std::move(reasons)},
            {"capabilities", node_config({.spec = spec, .node = nodes.front()}, false).cap_add},
            {"order", alone_stage({0}).order}};
}

json gpus_of(const std::string& output) {
    const auto gpus = parse_gpus(output);
    json read{{"lost", lost_gpus(output)}};
    if (!gpus) {
        read["error"] = gpus.error().message;
        return read;
    }
    read["gpus"] = json::array();
    for (const auto& gpu : *gpus) {
        read["gpus"].push_back({{"index", gpu.index},
                                {"uuid", gpu.uuid},
                                {"name", gpu.name},
                                {"driver_version", gpu.driver},
                                {"memory.used", told(gpu.memory_used_mib)},
                                {"memory.total", told(gpu.memory_total_mib)},
                                {"utilization.gpu", told(gpu.utilization_percent)},
                                {"temperature.gpu", told(gpu.temperature_c)},
                                {"power.draw", told(gpu.power_w)},
                                {"ecc.errors.uncorrected.volatile.total", told(gpu.uncorrected)},
                                {"mig.mode.current", gpu.mig}});
    }
    return read;
}

json listing_of(const std::string& output) {
    auto instances = json::array();
    for (const auto& instance : parse_mig(output)) {
        instances.push_back({{"uuid", instance.uuid},
                             {"profile", instance.profile},
                             {"gpu", instance.gpu},
                             {"index", instance.index}});
    }
    return {{"usable", count_listed_gpus(output)}, {"instances", std::move(instances)}};
}

json topology_of(const std::string& output) {
    const auto topology = parse_topology(output);
    auto links = json::array();
    for (const auto& row : topology.links) {
        links.push_back(json::array());
        for (const auto& [kind, count] : row) {
            links.back().push_back(link_names[static_cast<std::size_t>(kind)] +
                                   (kind == GpuLink::nvlink ? std::to_string(count) : ""));
        }
    }
    return {{"links", std::move(links)}, {"numa_node", topology.numa_node}};
}

json fabric_of(const std::string& output) {
    const auto fabric = parse_fabric(output);
    return fabric ? json{{"state", fabric->state},
                         {"status", fabric->status},
                         {"clique", fabric->clique},
                         {"cluster", fabric->cluster}}
                  : json();
}

// By line; null for one that is not understood.
json figures_of(const std::string& output) {
    auto lines = json::array();
    for (const auto& line : split(output, '\n')) {
        const auto read = parse_gpu_figures(line);
        if (line.empty()) {
            continue;
        }
        lines.push_back(read ? json{{"index", read->gpu.index},
                                    {"uuid", read->gpu.uuid},
                                    {"name", read->gpu.name},
                                    {"driver_version", read->driver},
                                    {"mig.mode.current", read->mig},
                                    {"memory.total", told(read->gpu.memory_bytes)},
                                    {"power.limit", told(read->gpu.power_limit_w)},
                                    {"clocks.max.sm", told(read->gpu.most_clock_mhz)},
                                    {"utilization.gpu", told(read->figures.utilization_percent)},
                                    {"memory.used", told(read->figures.memory_bytes)},
                                    {"power.draw", told(read->figures.power_w)},
                                    {"temperature.gpu", told(read->figures.temperature_c)},
                                    {"clocks.sm", told(read->figures.clock_mhz)},
                                    {"reasons", told(read->figures.throttle)}}
                             : json());
    }
    return lines;
}

// What `dockdist check` would say of a node that answers so.
json rows_of(const json& answers) {
    CheckedNode node;
    node.name = NodeName("node-0");
    const GpuSpec all{.kind = GpuSpec::Kind::all};
    for (const auto& asked : gpu_questions(all)) {
        for (const auto& [question, name, argv] : smi_commands()) {
            if (const auto found = answers.find(name); argv == asked.argv && found != answers.end()) {
                node.facts.programs.insert_or_assign(
                    asked.name,
                    wire::ProgramOutput{.code = found->at("code"), .output = found->at("output")});
            }
        }
    }
    auto rows = json::array();
    for (const auto& row : judge_gpus({node}, {NodeSpec{.name = node.name, .gpus = all}}).rows) {
        rows.push_back({{"state", state_names[static_cast<std::size_t>(row.state)]},
                        {"check", row.check},
                        {"text", row.text},
                        {"hint", row.hint}});
    }
    return rows;
}

json read(const json& answers) {
    const auto output = [&](SmiQuestion question) {
        for (const auto& command : smi_commands()) {
            if (command.question == question && answers.contains(command.name)) {
                return answers.at(command.name).at("output").get<std::string>();
            }
        }
        return std::string();
    };
    return {{"gpus", gpus_of(output(SmiQuestion::gpus))},
            {"listing", listing_of(output(SmiQuestion::listing))},
            {"topology", topology_of(output(SmiQuestion::topology))},
            {"table", {{"cuda", parse_cuda_version(output(SmiQuestion::table))}}},
            {"log", {{"fabric", fabric_of(output(SmiQuestion::log))}}},
            {"figures", figures_of(output(SmiQuestion::figures))},
            {"old-figures", figures_of(output(SmiQuestion::old_figures))},
            {"rows", rows_of(answers)}};
}

std::size_t visible(const std::vector<std::string>& value_and_uuids) {
    std::vector<wire::GpuUnit> units;
    for (std::size_t i = 1; i < value_and_uuids.size(); ++i) {
        units.push_back({.id = value_and_uuids[i], .index = static_cast<int>(i) - 1, .name = "GPU"});
    }
    return named_units(value_and_uuids.front(), units).units.size();
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view command = argc >= 2 ? argv[1] : "";
    try {
        if (command == "visible" && argc > 2) {
            std::cout << visible({argv + 2, argv + argc}) << "\n";
            return 0;
        }
        if (command == "questions") {
            std::cout << questions().dump() << "\n";
            return 0;
        }
        if (command == "read") {
            const std::string text(std::istreambuf_iterator<char>(std::cin), {});
            std::cout << read(json::parse(text)).dump(-1, ' ', false, json::error_handler_t::replace) << "\n";
            return 0;
        }
        std::cerr << "usage: gpu-answers questions|read|visible VALUE UUID...\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "gpu-answers: " << error.what() << "\n";
        return 1;
    }
}
