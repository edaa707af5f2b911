#include "client/spec/node_words.hpp"

#include "shared/core/host_list.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace dockdist {
namespace {

constexpr std::size_t names_in_a_hint = 300; // columns

class NodeFinder {
public:
    NodeFinder(const ClusterSpec& spec, const NodeWords& words)
        : spec_(spec), words_(words), nodes_(expand_nodes(spec)), taken_(nodes_.size()) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            by_name_[nodes_[i].name.str()].push_back(i);
        }
        for (std::size_t i = 0; i < nodes_.size(); ++i) { // of several on a host, none has its name
            const auto& host = spec.hosts[nodes_[i].host];
            if (host.nodes > 1) {
                by_name_[host.name.str()].push_back(i);
            }
        }
        by_name_.merge(by_position());
    }

    Result<std::vector<NamedNode>> find() {
        for (const auto& word : split_host_list(words_.text)) {
            const auto at = word.find('@');
            const auto taken = at == std::string::npos ? take_names(word)
                                                       : take_group(word.substr(0, at), word.substr(at + 1));
            TRY(taken);
        }
        return std::move(found_);
    }

private:
    Error wrong(std::string message, std::string hint) const {
        return {ErrorKind::usage, words_.option, std::move(message), std::move(hint)};
    }

    void take(std::size_t node, bool by_name) {
        if (!taken_[node]) {
            taken_[node] = true;
            found_.push_back({nodes_[node].name, by_name});
        }
    }

    // The nodes of hosts without a name in the file, as they are called by their host's place there.
    std::map<std::string, std::vector<std::size_t>> by_position() const {
        std::map<std::string, std::vector<std::size_t>> found;
        std::size_t next = 0;
        for (auto host : spec_.hosts) {
            host.name = HostName(host.position_name);
            for (int i = 0; i < host.nodes; ++i, ++next) {
                if (!host.position_name.empty()) {
                    found[node_name(host, i).str()].push_back(next);
                    if (host.nodes > 1) {
                        found[host.position_name].push_back(next);
                    }
                }
            }
        }
        return found;
    }

    Status take_names(const std::string& word) {
        if (!has_range(word)) {
            return take_name(word, true);
        }
        const auto names = read_host_list(word);
        if (!names) {
            return wrong("`" + printable(word) + "`: " + names.error().message, names.error().hint);
        }
        for (const auto& name : *names) {
            if (auto taken = take_name(name, false); !taken) {
                return taken;
            }
        }
        return ok;
    }

    Status take_name(const std::string& name, bool alone) {
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) {
            const auto rank = whole_number<std::size_t>(name);
            if (words_.ranks == Ranks::taken && rank && *rank < nodes_.size()) {
                take(*rank, true);
                return ok;
            }
            return no_such_node(name);
        }
        if (alone && !said_.insert(name).second) {
            return wrong("`" + name + "` is named twice", "");
        }
        for (const auto node : found->second) {
            take(node, true);
        }
        return ok;
    }

    Error no_such_node(const std::string& name) const {
        std::vector<std::string_view> known;
        std::vector<std::string> names;
        for (const auto& [name_of_one, ignored] : by_name_) {
            known.emplace_back(name_of_one);
        }
        for (const auto& node : nodes_) {
            names.push_back(node.name.str());
        }
        if (const auto groups = group_names(spec_); std::ranges::find(groups, name) != groups.end()) {
            return wrong("there is no node `" + printable(name) + "`", "the group is `@" + name + "`");
        }
        const auto meant = nearest(name, known);
        return wrong("there is no node `" + printable(name) + "`",
                     meant.empty() ? "nodes: " + short_host_list(names, names_in_a_hint)
                                   : "did you mean `" + meant + "`?");
    }

    Status take_group(const std::string& count, const std::string& group) {
        std::vector<std::size_t> members;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            if (std::ranges::binary_search(spec_.hosts[nodes_[i].host].groups, group)) {
                members.push_back(i);
            }
        }
        if (members.empty()) {
            return no_such_group(group);
        }
        const auto wanted = count.empty() ? members.size() : whole_number<std::size_t>(count).value_or(0);
        if (wanted == 0) {
            return wrong("`" + printable(count) + "@" + group + "` does not say how many",
                         "write a number before the `@`, as in 4@" + group);
        }
        if (wanted > members.size()) {
            return wrong(
                fmt::format("{} nodes of @{} were asked for, it has {}", wanted, group, members.size()),
                "ask for less");
        }
        for (std::size_t i = 0; i < wanted; ++i) {
            take(members[i], false);
        }
        return ok;
    }

    Error no_such_group(const std::string& group) const {
        const auto groups = group_names(spec_);
        const std::vector<std::string_view> known(groups.begin(), groups.end());
        const auto meant = nearest(group, known);
        const auto hint = groups.empty()
                              ? "the file has none: `groups`, or the inventory of `from`, says them"
                          : meant.empty() ? "groups: " + short_host_list(groups, names_in_a_hint)
                                          : "did you mean `@" + meant + "`?";
        return wrong("there is no group `@" + printable(group) + "`", hint);
    }

    const ClusterSpec& spec_;
    const NodeWords& words_;
    std::vector<NodeSpec> nodes_;
    std::map<std::string, std::vector<std::size_t>> by_name_{};
    std::vector<bool> taken_;
    std::set<std::string> said_{};
    std::vector<NamedNode> found_{};
};

} // namespace

Result<std::vector<NamedNode>> find_named(const ClusterSpec& spec, const NodeWords& words) {
    return NodeFinder(spec, words).find();
}

std::vector<std::string> group_names(const ClusterSpec& spec) {
    std::set<std::string> names;
    for (const auto& host : spec.hosts) {
        names.insert(host.groups.begin(), host.groups.end());
    }
    return {names.begin(), names.end()};
}

} // namespace dockdist
