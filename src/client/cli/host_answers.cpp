#include "client/cli/host_answers.hpp"

#include "client/observe/gpu_helper.hpp"
#include "client/plan/node_gpus.hpp"
#include "client/plan/plan.hpp"
#include "client/toolkit/toolkit.hpp"
#include "shared/core/random.hpp"

#include <algorithm>
#include <iterator>

namespace dockdist {
namespace {

constexpr std::size_t bytes_of_attempt = 8;

void mark_kept(HostGpus& host, const std::vector<Neighbour>& neighbours) {
    for (auto& unit : host.units) {
        const auto* const other = unit.hold ? nullptr : neighbour_with(neighbours, unit);
        if (other != nullptr) {
            unit.hold =
                wire::GpuHold{.unit = unit.unit,
                              .by = {.cluster = other->cluster, .node = other->node, .owner = other->owner}};
        }
    }
}

} // namespace

Task<HostAnswers> ask_hosts_of(Context& context, const Attached& cluster, std::vector<std::size_t> hosts,
                               bool board_alone) {
    std::vector<bool> only(cluster.spec.hosts.size(), false);
    for (const auto host : hosts) {
        only[host] = true;
    }
    QuietReporter quiet(*context.reporter);
    auto seen = co_await observe(cluster.spec, cluster.engines, toolkits().versions(), quiet, only);
    std::erase_if(hosts, [&](std::size_t host) { return !seen.reached[host]; });
    const auto reports = co_await ask_hosts(cluster.spec, cluster.engines, seen.cluster, hosts,
                                            {.toolkits = toolkits(),
                                             .attempt = random_hex(bytes_of_attempt),
                                             .origin = origin_of(cluster.spec),
                                             .board_alone = board_alone});
    HostAnswers answers{.errors = std::move(seen.errors)};
    for (std::size_t i = 0; i < hosts.size(); ++i) {
        if (reports[i]) {
            answers.hosts.push_back(gpus_of_host(hosts[i], *reports[i]));
            mark_kept(answers.hosts.back(), seen.cluster.hosts[hosts[i]].neighbours);
        } else if (reports[i].error().kind == ErrorKind::not_found) {
            const auto& error = reports[i].error();
            answers.hosts.push_back(
                {.host = hosts[i],
                 .problems = {error.message + (error.hint.empty() ? "" : "; " + error.hint)}});
        } else {
            answers.errors.push_back(reports[i].error());
        }
    }
    co_return answers;
}

std::vector<std::string> host_names(const ClusterSpec& spec) {
    std::vector<std::string> names;
    std::ranges::transform(spec.hosts, std::back_inserter(names),
                           [](const auto& host) { return host.name.str(); });
    return names;
}

std::vector<std::size_t> hosts_without_nodes(const Attached& cluster) {
    std::vector<std::size_t> hosts;
    for (std::size_t i = 0; i < cluster.reached.size(); ++i) {
        if (cluster.reached[i] &&
            std::ranges::find(cluster.nodes, i, &ReadyNode::host) == cluster.nodes.end()) {
            hosts.push_back(i);
        }
    }
    return hosts;
}

bool has_no_nodes(const Attached& cluster) {
    return !cluster.reached.empty() && cluster.nodes.empty() &&
           std::ranges::find(cluster.reached, false) == cluster.reached.end() &&
           std::ranges::all_of(cluster.observed.hosts, [](const auto& host) { return host.nodes.empty(); });
}

void forget_nodes(const Attached& cluster, Errors& errors, Forget which) {
    for (const auto& node : expand_nodes(cluster.spec)) {
        if (!cluster.reached.empty() && cluster.reached[node.host] &&
            (which == Forget::all || cluster.observed.hosts[node.host].nodes.empty())) {
            std::erase_if(errors, [label = node_label(node.name, cluster.spec.hosts[node.host])](
                                      const Error& error) { return error.where == label; });
        }
    }
}

} // namespace dockdist
