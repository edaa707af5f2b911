#include "client/plan/gpu_plan.hpp"

#include "client/plan/engine_abilities.hpp"
#include "client/plan/fingerprint.hpp"
#include "client/plan/labels.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

bool is_counted(const NodeSpec& node) {
    return node.gpus.kind == GpuSpec::Kind::count && node.gpus.count > 0;
}

} // namespace

GpuPlan::GpuPlan(const ClusterSpec& spec, const ObservedCluster& observed)
    : spec_(spec), observed_(observed) {
    for (const auto& node : expand_nodes(spec)) {
        const auto& nodes = observed.hosts[node.host].nodes;
        const auto there = std::ranges::find(nodes, node.name, &ObservedNode::node);
        if (!is_counted(node) || there == nodes.end()) {
            continue;
        }
        if (const auto label = there->labels.find(labels::gpus); label != there->labels.end()) {
            auto& had = had_[node.name] = gpus_of_label(label->second);
            taken_.insert(had.begin(), had.end());
        }
    }
}

std::string GpuPlan::lost(const NodeSpec& node, const ObservedNode& there) const {
    const auto& report = seen(node).gpus;
    if (!report || report->units.empty() || there.state == ContainerState::running) {
        return "";
    }
    const auto had = had_.find(node.name);
    for (const auto& id : had == had_.end() ? std::vector<std::string>() : had->second) {
        if (std::ranges::none_of(report->units, [&](const auto& gpu) { return gpu.unit.id == id; })) {
            return id + " is gone from the host";
        }
    }
    return "";
}

bool GpuPlan::went_other_way(const ObservedNode& there, NodeConfigInput input, bool rdma) const {
    const auto host = input.node.host;
    input.cdi = !input.cdi;
    const bool may_go_on = there.state == ContainerState::running || !input.cdi || input.engine.cdi;
    return may_go_on && may_change_way(spec_.hosts[host], observed_.hosts[host].engine) &&
           label_of(there.labels, labels::spec) == fingerprint(node_config(input, rdma));
}

void GpuPlan::want_look(const NodeSpec& node, PlanResult& result) const {
    auto& looks = result.wanted.looks;
    if (is_counted(node) && !seen(node).gpus && seen(node).image &&
        std::ranges::find(looks, node.host) == looks.end()) {
        looks.push_back(node.host);
    }
}

std::optional<ChosenGpus> GpuPlan::choose(const NodeSpec& node, PlanResult& result) {
    want_look(node, result);
    if (!is_counted(node) || !seen(node).gpus) {
        return std::nullopt;
    }
    const auto& had = had_[node.name];
    for (const auto& id : had) {
        taken_.erase(id);
    }
    auto chosen = choose_node_gpus(seen(node), static_cast<std::size_t>(node.gpus.count), had, taken_);
    if (!chosen) {
        auto error = chosen.error();
        error.where = host_label(spec_.hosts[node.host]);
        result.errors.push_back(std::move(error));
        return std::nullopt;
    }
    return std::move(*chosen);
}

void GpuPlan::give(const NodeSpec& node, const std::optional<ChosenGpus>& gpus,
                   ContainerConfig& config) const {
    if (!gpus) {
        config.labels[labels::gpus] = gpus_label(node.gpus);
        return;
    }
    const bool cdi = uses_cdi(spec_.hosts[node.host], seen(node).engine);
    DeviceRequest request{.driver = cdi ? "cdi" : ""};
    for (std::size_t i = 0; i < gpus->ids.size(); ++i) {
        request.device_ids.push_back(cdi ? cdi_name_of(gpus->ids[i], *seen(node).gpus, seen(node).engine)
                                         : gpus->ids[i]);
    }
    config.device_requests = {std::move(request)};
    config.labels[labels::gpus] = fmt::format("{}", fmt::join(gpus->ids, ","));
}

} // namespace dockdist
