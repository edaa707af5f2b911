#include "job/select_nodes.hpp"

#include "core/number.hpp"
#include "core/text.hpp"
#include "gpu/kfd.hpp"
#include "gpu/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace dockdist {
namespace {

NodeWords of_option(const char* option, const std::string& text) {
    return {.option = option, .text = text, .ranks = Ranks::refused}; // a number alone is a count
}

// How many GPUs a value names; 0 where it names none.
int count_named(std::string_view value) {
    int count = 0;
    for (const auto& word : split(value, ',')) {
        if (word.empty() || word == "-1") {
            break;
        }
        ++count;
    }
    return count;
}

// None of `excluded`, which need not be ready.
Result<std::vector<ReadyNode>> named_without(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                             const NodeWords& words, const std::set<NodeName>& excluded) {
    const auto named = find_named(spec, words);
    if (!named) {
        return named.error();
    }
    std::map<NodeName, const ReadyNode*> ready;
    for (const auto& node : nodes) {
        ready[node.name] = &node;
    }
    std::vector<ReadyNode> found;
    bool any = false;
    for (const auto& node : *named) {
        if (excluded.contains(node.name)) {
            continue;
        }
        any = true;
        if (const auto there = ready.find(node.name); there != ready.end()) {
            found.push_back(*there->second);
        } else if (node.by_name || named->size() == 1) {
            return Error{ErrorKind::node, words.option, "the node `" + node.name.str() + "` is not ready",
                         "run `dockdist up` to bring it back, or leave it out"};
        }
    }
    if (found.empty() && any) {
        return Error{ErrorKind::node, words.option, "no node of `" + words.text + "` is ready",
                     "run `dockdist up`"};
    }
    return found;
}

} // namespace

Result<std::vector<ReadyNode>> named_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                           const NodeWords& words) {
    return named_without(spec, nodes, words, {});
}

Result<std::vector<ReadyNode>> select_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                            const std::string& selection, const std::string& excluded,
                                            std::size_t spares) {
    const auto count = whole_number<std::size_t>(selection);
    const bool by_words = !selection.empty() && !count;
    const auto out = excluded.empty() ? Result<std::vector<NamedNode>>(std::vector<NamedNode>())
                                      : find_named(spec, of_option("--exclude", excluded));
    if (!out) {
        return out.error();
    }
    std::set<NodeName> without;
    for (const auto& node : *out) {
        without.insert(node.name);
    }
    auto chosen = by_words ? named_without(spec, nodes, of_option("--nodes", selection), without)
                           : Result<std::vector<ReadyNode>>(nodes);
    if (!chosen) {
        return chosen;
    }
    std::erase_if(*chosen, [&](const ReadyNode& node) { return without.contains(node.name); });
    if (by_words) {
        const auto named = *find_named(spec, of_option("--nodes", selection));
        for (const auto& node : *out) {
            const bool ready = std::ranges::find(nodes, node.name, &ReadyNode::name) != nodes.end();
            if (node.by_name && ready &&
                std::ranges::find(named, node.name, &NamedNode::name) == named.end()) {
                return Error{ErrorKind::usage, "--exclude",
                             "`" + node.name.str() + "` is not among the nodes of --nodes", ""};
            }
        }
    }
    if (chosen->empty()) {
        return Error{ErrorKind::usage, "--exclude", "no node is left", "exclude less"};
    }
    if (count) {
        if (*count == 0 || *count + spares > chosen->size()) {
            return Error{ErrorKind::usage, "--nodes",
                         fmt::format("{} nodes{} were asked for, {} {}", *count,
                                     spares == 0 ? "" : fmt::format(" and {} spare", spares),
                                     excluded.empty() ? "the cluster has" : "without --exclude's there are",
                                     chosen->size()),
                         spares == 0 ? "ask for less, or add hosts to the file and run `dockdist up`"
                                     : "ask for less, or for fewer spare ones: --spares 0"};
        }
        chosen->resize(*count + spares);
    }
    if (spares >= chosen->size()) {
        return Error{ErrorKind::usage, "--spares",
                     fmt::format("of {} node{} {} would be spare: none is left to run the job",
                                 chosen->size(), chosen->size() == 1 ? "" : "s", spares),
                     "choose more nodes, or fewer spare ones: --spares 0"};
    }
    return chosen;
}

Result<LaunchNode> launch_node(const ClusterSpec& spec, const ReadyNode& node,
                               const std::map<std::string, std::string>& own_env,
                               std::optional<int> ranks_per_node) {
    LaunchNode seen{.name = node.name,
                    .address = node.record.address,
                    .interface = node.record.interface,
                    .slots = node.record.slots,
                    .gpus = node.record.gpus};
    if (seen.gpus == 0) {
        return seen;
    }
    for (const auto* variable : {cuda_devices_variable, rocm_devices_variable, hip_devices_variable}) {
        for (const auto* env : {&own_env, &spec.hosts[node.host].env, &spec.container.env}) {
            const auto found = env->find(variable);
            if (found == env->end()) {
                continue;
            }
            const int named = count_named(found->second);
            if (named > 0 && ranks_per_node.value_or(0) > named) {
                return Error{
                    ErrorKind::usage, "--gpus",
                    fmt::format("{} GPUs of {} were asked for, and {}={} names {}", *ranks_per_node,
                                node.name.str(), variable, printable(found->second), named),
                    fmt::format("use --gpus {}, or leave the variable out: a job's GPUs are its own, and "
                                "dockdist chooses them",
                                named)};
            }
            if (named > 0) {
                seen.slots = std::min(seen.slots, named);
                seen.gpus = std::min(seen.gpus, named);
            }
            break;
        }
    }
    return seen;
}

} // namespace dockdist
