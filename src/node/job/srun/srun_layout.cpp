#include "node/job/srun/srun_layout.hpp"

#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/frame.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

namespace dockdist::node {
namespace {

Error impossible(const std::string& message) {
    return Error{.kind = ErrorKind::usage, .message = message};
}

std::string names_of(const std::vector<SrunNode>& nodes) {
    std::vector<std::string> names;
    for (const auto& node : nodes) {
        names.push_back(node.name);
    }
    return host_list(names);
}

Result<std::vector<bool>> marked(const std::string& list, const std::vector<SrunNode>& available) {
    std::vector<bool> found(available.size(), false);
    if (list.empty()) {
        return found;
    }
    const auto names = expand_host_list(list);
    if (!names) {
        return impossible("Invalid node name specified: " + printable(list));
    }
    for (const auto& name : *names) {
        const auto node = std::ranges::find_if(
            available, [&](const SrunNode& one) { return one.name == name || one.address == name; });
        if (node == available.end()) {
            return impossible("Invalid node name specified: " + printable(name) + " is none of " +
                              names_of(available));
        }
        found[static_cast<std::size_t>(node - available.begin())] = true;
    }
    return found;
}

// No more than there can be tasks.
int product(int one, int other) {
    return static_cast<int>(std::min<std::int64_t>(std::int64_t{one} * other, wire::max_rank));
}

int capacity(const SrunOptions& options, const SrunNode& node) {
    int tasks = options.overcommit ? std::numeric_limits<int>::max() : node.slots;
    if (options.gpus_per_task.value_or(0) > 0) {
        tasks = std::min(tasks, node.gpus_there / *options.gpus_per_task);
    }
    return std::min(tasks, options.tasks_per_node.value_or(tasks));
}

std::int64_t capacity(const SrunOptions& options, const std::vector<SrunNode>& nodes, std::size_t count) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
        sum += capacity(options, nodes[i]);
    }
    return sum;
}

struct Candidates {
    std::vector<SrunNode> nodes{}; // those that were named, then the others that can run a task
    std::size_t named = 0;
};

Result<Candidates> candidates_of(const SrunOptions& options, const std::vector<SrunNode>& available) {
    const auto wanted = marked(options.node_list, available);
    const auto excluded = marked(options.excluded, available);
    if (!wanted || !excluded) {
        return wanted ? excluded.error() : wanted.error();
    }
    Candidates candidates;
    for (const bool named : {true, false}) {
        for (std::size_t i = 0; i < available.size(); ++i) {
            if (wanted->at(i) == named && !excluded->at(i) &&
                i >= static_cast<std::size_t>(options.relative) &&
                (named || capacity(options, available[i]) > 0)) {
                candidates.nodes.push_back(available[i]);
                candidates.named += named ? 1 : 0;
            }
        }
    }
    return candidates;
}

std::optional<int> tasks_asked_for(const SrunOptions& options) {
    if (options.tasks) {
        return options.tasks;
    }
    if (options.gpus && options.tasks_per_gpu) {
        return product(*options.gpus, *options.tasks_per_gpu);
    }
    if (options.gpus && options.gpus_per_task.value_or(0) > 0) {
        return std::max(*options.gpus / *options.gpus_per_task, 1);
    }
    return std::nullopt;
}

std::size_t nodes_to_take(const SrunOptions& options, const Candidates& candidates,
                          std::optional<int> tasks) {
    const auto all = candidates.nodes.size();
    if (options.nodes) {
        return std::max(static_cast<std::size_t>(*options.nodes),
                        std::min(static_cast<std::size_t>(options.most_nodes), all));
    }
    if (!tasks) {
        return candidates.named > 0 ? candidates.named : all;
    }
    std::size_t count = std::max<std::size_t>(candidates.named, 1);
    int gpus = 0;
    for (std::size_t i = 0; i < std::min(count, all); ++i) {
        gpus += candidates.nodes[i].gpus_there;
    }
    while (count < all &&
           (capacity(options, candidates.nodes, count) < *tasks || gpus < options.gpus.value_or(0))) {
        gpus += candidates.nodes[count++].gpus_there;
    }
    return count;
}

// Each node one, then the first ones as many as they have slots for.
void share_out(const SrunOptions& options, std::vector<SrunNode>& nodes, int tasks) {
    int left = tasks;
    auto behind = static_cast<int>(nodes.size());
    for (auto& node : nodes) {
        --behind;
        const int even = options.overcommit ? (left + behind) / (behind + 1) : left - behind;
        node.tasks = std::min({capacity(options, node), even, left - behind});
        left -= node.tasks;
    }
    for (auto& node : nodes) { // where a node before had no room for its even share
        const int more = std::min(left, capacity(options, node) - node.tasks);
        node.tasks += more;
        left -= more;
    }
}

void share_gpus(const SrunOptions& options, std::vector<SrunNode>& nodes) {
    const auto count = static_cast<int>(nodes.size());
    for (auto& node : nodes) {
        if (options.gpus_per_node) {
            node.gpus = *options.gpus_per_node;
        } else if (options.gpus_per_task) {
            node.gpus = product(*options.gpus_per_task, node.tasks);
        } else if (options.gpus) {
            node.gpus = (*options.gpus + count - 1) / count;
        }
    }
}

} // namespace

Result<std::vector<SrunNode>> lay_out(SrunOptions& options, const std::vector<SrunNode>& available) {
    auto candidates = candidates_of(options, available);
    TRY(candidates);
    auto tasks = tasks_asked_for(options);
    auto take = nodes_to_take(options, *candidates, tasks);
    if (tasks && static_cast<std::size_t>(*tasks) < take) {
        if (!options.nodes || *options.nodes > *tasks) { // else a range allows it
            options.remarks.push_back("Warning: can't run " + std::to_string(*tasks) + " processes on " +
                                      std::to_string(take) + " nodes, setting nnodes to " +
                                      std::to_string(*tasks));
        }
        take = static_cast<std::size_t>(*tasks);
    }
    if (tasks && options.nodes && options.tasks_per_node && take > 0 &&
        static_cast<std::size_t>(*tasks) > take * static_cast<std::size_t>(*options.tasks_per_node)) {
        options.remarks.push_back(
            "Warning: can't honor --ntasks-per-node set to " + std::to_string(*options.tasks_per_node) +
            " which doesn't match the requested tasks " + std::to_string(*tasks) +
            " with the number of requested nodes " + std::to_string(take) + ". Ignoring --ntasks-per-node.");
        options.tasks_per_node.reset();
    }
    if (take == 0 || take > candidates->nodes.size()) {
        return impossible("Requested node configuration is not available: " +
                          std::to_string(std::max<std::size_t>(take, 1)) + " nodes of " +
                          (candidates->nodes.empty() ? "none" : names_of(candidates->nodes)) +
                          (options.gpus_per_task.value_or(0) > 0
                               ? " with " + std::to_string(*options.gpus_per_task) + " GPUs for a task"
                               : ""));
    }
    auto nodes = std::move(candidates->nodes);
    nodes.resize(take);
    std::ranges::sort(nodes, {}, [&](const SrunNode& node) {
        return std::ranges::find(available, node.name, &SrunNode::name) - available.begin();
    });
    const int count = tasks.value_or(product(static_cast<int>(take), options.tasks_per_node.value_or(1)));
    if (capacity(options, nodes, nodes.size()) < count) {
        return impossible("More processors requested than permitted: " + std::to_string(count) +
                          " tasks, and " + names_of(nodes) + " " + (nodes.size() == 1 ? "has" : "have") +
                          " " + std::to_string(capacity(options, nodes, nodes.size())) +
                          (options.tasks_per_node ? " slots for them" : " slots") +
                          " (-O starts more tasks than slots)");
    }
    if (const auto without =
            std::ranges::find_if(nodes, [&](const SrunNode& node) { return capacity(options, node) < 1; });
        without != nodes.end()) { // it was named
        return impossible("Requested node configuration is not available: " + without->name + " has " +
                          std::to_string(without->gpus_there) + " GPUs, and a task is to have " +
                          std::to_string(options.gpus_per_task.value_or(0)));
    }
    share_out(options, nodes, count);
    share_gpus(options, nodes);
    return nodes;
}

} // namespace dockdist::node
