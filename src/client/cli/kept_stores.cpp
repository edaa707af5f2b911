#include "client/cli/kept_stores.hpp"

#include "client/async/run_all.hpp"
#include "client/cli/host_answers.hpp"
#include "client/cluster/toolkit_bringer.hpp"
#include "client/observe/helper_parts.hpp"
#include "client/plan/architecture.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/node_config.hpp"
#include "client/plan/plan.hpp"
#include "client/toolkit/toolkit.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t bytes_of_an_attempt = 8;

std::set<NodeName> running_nodes(const Attached& cluster) {
    std::set<NodeName> names;
    for (const auto& host : cluster.observed.hosts) {
        for (const auto& node : host.nodes) {
            if (node.state == ContainerState::running) {
                names.insert(node.node);
            }
        }
    }
    return names;
}

std::vector<bool> hosts_that_lack_nodes(const Attached& cluster, const std::set<NodeName>& running) {
    std::vector<bool> hosts(cluster.spec.hosts.size(), false);
    for (const auto& node : expand_nodes(cluster.spec)) {
        hosts[node.host] = hosts[node.host] || (!cluster.reached.empty() && cluster.reached[node.host] &&
                                                !running.contains(node.name));
    }
    return hosts;
}

// Of another release than this one's a host may have none but the image.
Task<void> bring_toolkits(Context& context, const Attached& cluster, const std::vector<bool>& hosts,
                          Observation& seen, std::string attempt) {
    const auto& spec = cluster.spec;
    QuietReporter quiet(*context.reporter);
    ToolkitBringer bringer(spec, cluster.engines, toolkits(), quiet);
    std::vector<Task<Status>> uploads;
    std::vector<std::pair<std::size_t, std::string>> versions; // by host
    for (std::size_t host = 0; host < hosts.size(); ++host) {
        const auto& there = seen.cluster.hosts[host];
        const auto* toolkit = toolkit_of(toolkits(), spec.image, there);
        if (!hosts[host] || !seen.reached[host] || !there.image || toolkit == nullptr ||
            parts_on(spec, toolkits(), there)) {
            continue;
        }
        auto config = toolkit_upload_config(spec.image, toolkit->version);
        config.labels = labels::common(spec.name.str(), "upload", attempt, origin_of(spec));
        uploads.push_back(
            bringer.upload({.host = host,
                            .architecture = container_architecture(spec.image, there),
                            .container_name = container_name(spec.name, NodeName("upload." + attempt)),
                            .config = std::move(config)}));
        versions.emplace_back(host, toolkit->version);
    }
    const auto brought = co_await run_all(std::move(uploads));
    for (std::size_t i = 0; i < brought.size(); ++i) {
        if (brought[i]) {
            seen.cluster.hosts[versions[i].first].toolkits.insert(versions[i].second);
        }
    }
}

void sort_by_rank(const ClusterSpec& spec, std::vector<ReadyNode>& nodes) {
    const auto all = expand_nodes(spec);
    std::ranges::sort(
        nodes, {}, [&](const ReadyNode& node) { // those that the file does not name are the last
            return std::pair(std::ranges::find(all, node.name, &NodeSpec::name) - all.begin(), node.name);
        });
}

} // namespace

Task<bool> open_kept_stores(Context& context, Attached& cluster, StoreReaders& readers) {
    const auto running = running_nodes(cluster);
    auto hosts = hosts_that_lack_nodes(cluster, running);
    if (std::ranges::find(hosts, true) == hosts.end()) {
        co_return false;
    }
    auto found = co_await find_stores(cluster.spec, cluster.engines, hosts, running);
    std::ranges::move(found.errors, std::back_inserter(cluster.errors));
    if (found.stores.empty()) {
        co_return false;
    }
    std::fill(hosts.begin(), hosts.end(), false);
    std::vector<std::string> names;
    for (const auto& store : found.stores) {
        hosts[store.host] = true;
        names.push_back(store.node.str());
    }
    QuietReporter quiet(*context.reporter);
    auto seen = co_await observe(cluster.spec, cluster.engines, toolkits().versions(), quiet, hosts);
    std::erase_if(found.stores, [&](const Store& store) { return !seen.reached[store.host]; });
    std::ranges::move(seen.errors, std::back_inserter(cluster.errors));
    const auto attempt = random_hex(bytes_of_an_attempt);
    co_await bring_toolkits(context, cluster, hosts, seen, attempt);
    if (has_no_nodes(cluster)) {
        forget_nodes(cluster, cluster.errors, Forget::missing);
    }
    for (const auto& store : found.stores) {
        std::erase_if(cluster.errors, [label = node_label(store.node, cluster.spec.hosts[store.host])](
                                          const Error& error) { return error.where == label; });
    }
    auto opened = co_await readers.open(
        cluster.spec, cluster.engines, seen.cluster, std::move(found.stores),
        {.toolkits = toolkits(), .attempt = attempt, .origin = origin_of(cluster.spec)});
    std::ranges::move(opened.errors, std::back_inserter(cluster.errors));
    std::ranges::move(opened.nodes, std::back_inserter(cluster.nodes));
    sort_by_rank(cluster.spec, cluster.nodes);
    context.reporter->on(
        {.kind = Event::Kind::note,
         .text = fmt::format("{} {} not up: what {} kept of earlier jobs is read from {}", list_names(names),
                             names.size() == 1 ? "is" : "are", names.size() == 1 ? "it has" : "they have",
                             names.size() == 1 ? "its volume" : "their volumes")});
    co_return true;
}

} // namespace dockdist
