#include "client/job/select_nodes.hpp"

#include "shared/core/counted.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/gpu/kfd.hpp"
#include "shared/gpu/units.hpp"

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

constexpr std::string_view the_first = "first:";

// "4@rack1": how many of the group are wanted; nothing for other words.
std::optional<std::size_t> count_before_group(std::string_view word) {
    return whole_number<std::size_t>(word.substr(0, std::min(word.find('@'), word.size())));
}

bool is_counted_group(const std::string& word) {
    return word.find('@') != std::string::npos && !word.starts_with('@');
}

// Makes a choice of words, each of which may leave one.
class Chooser {
public:
    // `any`: of "4@rack1" any four will do, else the first four.
    Chooser(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes, const std::set<NodeName>& excluded,
            bool any)
        : spec_(spec), excluded_(excluded), any_of_a_group_(any) {
        for (const auto& node : nodes) {
            ready_[node.name] = &node;
        }
    }

    Result<NodeChoice> choose(const NodeWords& words) {
        const auto named = find_named(spec_, words); // wrong as a whole?
        TRY(named);
        const auto all = split_host_list(words.text);
        for (const bool counted : {false, true}) { // what is named is none of a choice
            for (std::size_t i = 0; i < all.size(); ++i) {
                if ((any_of_a_group_ && is_counted_group(all[i])) == counted) {
                    TRY(add(words, all[i], i, counted));
                }
            }
        }
        for (auto& [word, seats] : seats_) {
            choice_.choice.seats.push_back(std::move(seats));
        }
        if (choice_.nodes.empty() && any_) {
            return Error{ErrorKind::node, words.option, "no node of `" + words.text + "` is ready",
                         "run `dockdist up`"};
        }
        return std::move(choice_);
    }

private:
    // Of `excluded` none counts, ready or not.
    Status add(const NodeWords& words, const std::string& word, std::size_t place, bool counted) {
        auto own = words;
        own.text = counted ? word.substr(word.find('@')) : word;
        const auto named = *find_named(spec_, own);
        Seats seats;
        for (const auto& node : named) {
            if (excluded_.contains(node.name) || taken_.contains(node.name)) {
                continue;
            }
            any_ = true;
            if (const auto there = ready_.find(node.name); there != ready_.end()) {
                taken_.insert(node.name);
                seats.among.push_back(choice_.nodes.size());
                choice_.nodes.push_back(*there->second);
            } else if (node.by_name || named.size() == 1) {
                return Error{ErrorKind::node, words.option, "the node `" + node.name.str() + "` is not ready",
                             "run `dockdist up` to bring it back, or leave it out"};
            }
        }
        seats.count = counted ? count_before_group(word).value_or(0) : seats.among.size();
        if (seats.count > seats.among.size()) {
            return Error{ErrorKind::node, words.option,
                         fmt::format("{} nodes of {} were asked for; {} available", seats.count, own.text,
                                     seats.among.size()),
                         "ask for less, or run `dockdist up` for those that are not ready"};
        }
        seats_[place] = std::move(seats);
        return ok;
    }

    const ClusterSpec& spec_;
    const std::set<NodeName>& excluded_;
    bool any_of_a_group_;
    std::map<NodeName, const ReadyNode*> ready_{};
    std::set<NodeName> taken_{};
    std::map<std::size_t, Seats> seats_{}; // of each word
    NodeChoice choice_{};
    bool any_ = false;
};

Error too_many(std::size_t wanted, std::size_t spares, std::size_t there, bool excluded) {
    return {ErrorKind::usage, "--nodes",
            fmt::format("{} nodes{} were asked for, {} {}", wanted,
                        spares == 0 ? "" : fmt::format(" and {} spare", spares),
                        excluded ? "without --exclude's there are" : "the cluster has", there),
            spares == 0 ? "ask for less, or add hosts to the file and run `dockdist up`"
                        : "ask for less, or for fewer spare ones: --spares 0"};
}

std::vector<std::vector<std::size_t>> domains_of(const ClusterSpec& spec,
                                                 const std::vector<ReadyNode>& nodes) {
    const auto names = group_names(spec);
    std::vector<std::vector<std::size_t>> domains;
    for (const auto& node : nodes) {
        auto& own = domains.emplace_back();
        for (const auto& group : spec.hosts[node.host].groups) {
            own.push_back(static_cast<std::size_t>(std::ranges::lower_bound(names, group) - names.begin()));
        }
    }
    return domains;
}

} // namespace

std::optional<std::size_t> node_count(std::string_view selection) {
    return whole_number<std::size_t>(selection.starts_with(the_first) ? selection.substr(the_first.size())
                                                                      : selection);
}

bool says_how_many(const std::string& selection) {
    return node_count(selection).has_value() ||
           (!selection.empty() && std::ranges::all_of(split_host_list(selection), is_counted_group));
}

std::string without_counts(const std::string& selection) {
    std::string text;
    for (const auto& word : split_host_list(selection)) {
        text += (text.empty() ? "" : ",") + (is_counted_group(word) ? word.substr(word.find('@')) : word);
    }
    return text;
}

std::vector<ReadyNode> NodeChoice::first() const {
    std::vector<ReadyNode> first;
    for (const auto& [count, among] : choice.seats) {
        for (std::size_t i = 0; i < std::min(count, among.size()); ++i) {
            first.push_back(nodes[among[i]]);
        }
    }
    return first;
}

Result<std::vector<ReadyNode>> named_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                           const NodeWords& words) {
    const std::set<NodeName> none;
    auto chosen = Chooser(spec, nodes, none, false).choose(words);
    return chosen ? chosen->first() : Result<std::vector<ReadyNode>>(chosen.error());
}

Result<std::vector<ReadyNode>> select_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                            const std::string& selection, const std::string& excluded,
                                            std::size_t spares) {
    auto chosen = choose_nodes(spec, nodes, selection, excluded, spares);
    return chosen ? chosen->first() : Result<std::vector<ReadyNode>>(chosen.error());
}

Result<NodeChoice> choose_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                const std::string& selection, const std::string& excluded,
                                std::size_t spares) {
    const auto count = node_count(selection);
    const bool by_words = !selection.empty() && !count;
    const auto out = excluded.empty() ? Result<std::vector<NamedNode>>(std::vector<NamedNode>())
                                      : find_named(spec, of_option("--exclude", excluded));
    TRY(out);
    std::set<NodeName> without;
    for (const auto& node : *out) {
        without.insert(node.name);
    }
    auto chosen = by_words ? Chooser(spec, nodes, without, true).choose(of_option("--nodes", selection))
                           : Result<NodeChoice>(NodeChoice());
    if (!chosen) {
        return chosen;
    }
    if (by_words) {
        const auto named = *find_named(spec, of_option("--nodes", without_counts(selection)));
        for (const auto& node : *out) {
            const bool ready = std::ranges::find(nodes, node.name, &ReadyNode::name) != nodes.end();
            if (node.by_name && ready &&
                std::ranges::find(named, node.name, &NamedNode::name) == named.end()) {
                return Error{ErrorKind::usage, "--exclude",
                             "`" + node.name.str() + "` is not among the nodes of --nodes", ""};
            }
        }
    } else {
        auto& seats = chosen->choice.seats.emplace_back();
        for (const auto& node : nodes) {
            if (!without.contains(node.name)) {
                seats.among.push_back(chosen->nodes.size());
                chosen->nodes.push_back(node);
            }
        }
        seats.count = count ? *count + spares : seats.among.size();
        if (!seats.among.empty() && (count == std::size_t{0} || seats.count > seats.among.size())) {
            return too_many(*count, spares, seats.among.size(), !excluded.empty());
        }
        if (selection.starts_with(the_first)) {
            seats.among.resize(seats.count);
            chosen->nodes.resize(seats.count);
        }
    }
    if (chosen->nodes.empty()) {
        return Error{ErrorKind::usage, "--exclude", "no node is left", "exclude fewer nodes"};
    }
    std::size_t all = 0;
    for (const auto& seats : chosen->choice.seats) {
        all += seats.count;
    }
    if (spares >= all) {
        return Error{
            ErrorKind::usage, "--spares",
            fmt::format("of {} {} would be spare: none is left to run the job", counted(all, "node"), spares),
            "choose more nodes, or fewer spare ones: --spares 0"};
    }
    chosen->choice.domains = domains_of(spec, chosen->nodes);
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
