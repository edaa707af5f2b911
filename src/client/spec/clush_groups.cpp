// ClusterShell's group files: "rack1: gpu[1-64]" a line, or YAML of sources with such groups
// (clustershell.readthedocs.io, "Node groups"). Node sets have `,` `!` `&` `^`, from left to right, and `@`.
#include "client/spec/inventory_builder.hpp"
#include "client/spec/yaml_tree.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <set>

namespace dockdist {
namespace {

constexpr int most_nested = 64;

struct NodeGroup {
    std::string name{}, set{};
    std::size_t line = 0;
};

using NodeNames = std::vector<std::string>;

class NodeSets {
public:
    explicit NodeSets(const std::vector<NodeGroup>& groups) : groups_(groups) {}

    Result<NodeNames> evaluate(const std::string& set, int depth) {
        NodeNames names;
        std::set<std::string> there; // the same
        char operation = ',';
        for (std::size_t at = 0; at <= set.size();) {
            const auto end = end_of_operand(set, at);
            const std::string operand(bare_line(std::string_view(set).substr(at, end - at)));
            if (!operand.empty()) {
                const auto some = operand.front() == '@' ? group(operand.substr(1), depth) : expand(operand);
                if (!some) {
                    return some;
                }
                if (operation == ',') {
                    std::ranges::copy_if(*some, std::back_inserter(names),
                                         [&](const std::string& name) { return there.insert(name).second; });
                } else {
                    names = combined(names, operation, *some);
                    there = {names.begin(), names.end()};
                }
            }
            operation = end < set.size() ? set[end] : ',';
            at = end + 1;
        }
        return names;
    }

private:
    static std::size_t end_of_operand(const std::string& set, std::size_t at) {
        bool in_brackets = false;
        for (; at < set.size(); ++at) {
            in_brackets = set[at] == '[' || (in_brackets && set[at] != ']');
            if (!in_brackets && std::string_view(",!&^").find(set[at]) != std::string_view::npos) {
                break;
            }
        }
        return at;
    }

    static Result<NodeNames> expand(const std::string& operand) {
        NodeNames all;
        for (const auto& word : split(operand, ' ')) {
            if (!word.empty()) {
                auto some = read_host_list(word);
                if (!some) {
                    return some;
                }
                all.insert(all.end(), some->begin(), some->end());
            }
        }
        return all;
    }

    Result<NodeNames> group(const std::string& name, int depth) {
        if (depth == most_nested) {
            return list_error(0, "the group `" + printable(name) + "` names itself");
        }
        const auto plain = name.substr(name.find(':') == std::string::npos ? 0 : name.find(':') + 1);
        const auto found = std::ranges::find(groups_, plain, &NodeGroup::name);
        if (found == groups_.end()) {
            return list_error(0, "there is no group `" + printable(name) + "`");
        }
        if (const auto known = known_.find(plain); known != known_.end()) {
            return known->second;
        }
        auto names = evaluate(found->set, depth + 1);
        if (names) {
            known_[plain] = *names;
        }
        return names;
    }

    static NodeNames combined(const NodeNames& left, char operation, const NodeNames& right) {
        const std::set<std::string> in_left(left.begin(), left.end());
        const std::set<std::string> in_right(right.begin(), right.end());
        NodeNames names;
        const auto keep = [&names](const NodeNames& from, const auto& condition) {
            std::ranges::copy_if(from, std::back_inserter(names), condition);
        };
        const auto not_in_left = [&](const std::string& name) { return !in_left.contains(name); };
        const auto not_in_right = [&](const std::string& name) { return !in_right.contains(name); };
        if (operation == '&') {
            keep(left, [&](const std::string& name) { return in_right.contains(name); });
        } else {
            keep(left, not_in_right);
            if (operation == '^') {
                keep(right, not_in_left);
            }
        }
        return names;
    }

    const std::vector<NodeGroup>& groups_;
    std::map<std::string, NodeNames> known_{};
};

// "rack1: gpu[1-64]" a line; in a file of several sources, `[source]` begins each.
Result<std::vector<NodeGroup>> read_lines(std::string_view text) {
    std::vector<NodeGroup> groups;
    std::size_t number = 0;
    for (const auto& each : split(text, '\n')) {
        ++number;
        const auto line = bare_line(each);
        if (line.empty() || line.starts_with('[')) {
            continue;
        }
        const auto colon = line.find(':');
        if (colon == std::string_view::npos || colon == 0) {
            return list_error(number, "`" + printable(line) + "` is not a group",
                              "a line is `NAME: NODES`, as in /etc/clustershell/groups.d/local.cfg");
        }
        groups.push_back({.name = std::string(bare_line(line.substr(0, colon))),
                          .set = std::string(bare_line(line.substr(colon + 1))),
                          .line = number});
    }
    return groups;
}

Result<std::vector<NodeGroup>> read_sources(std::string_view text) {
    const auto document = parse_yaml(text);
    if (!document.mistakes.empty()) {
        const auto& first = document.mistakes.front();
        return list_error(static_cast<std::size_t>(first.place.line), first.message, first.hint);
    }
    std::vector<NodeGroup> groups;
    for (const auto& source : document.root->entries) {
        for (const auto& [name, place, value] : source.value->entries) {
            const auto line = static_cast<std::size_t>(place.line);
            NodeGroup group{.name = name, .set = value->text, .line = line};
            for (const auto* item : value->items) {
                group.set += (group.set.empty() ? "" : ",") + item->text;
            }
            groups.push_back(std::move(group));
        }
    }
    return groups;
}

// A file of YAML has a source alone on its first line.
bool is_yaml_of_sources(std::string_view text) {
    for (const auto& each : split(text, '\n')) {
        if (const auto line = bare_line(each); !line.empty()) {
            return line == "---" || line.ends_with(':');
        }
    }
    return false;
}

} // namespace

Result<Inventory> parse_clush_groups(std::string_view text) {
    const auto groups = is_yaml_of_sources(text) ? read_sources(text) : read_lines(text);
    TRY(groups);
    InventoryBuilder builder;
    NodeSets sets(*groups);
    for (const auto& each : *groups) {
        const auto names = sets.evaluate(each.set, 0);
        if (!names) {
            return list_error(each.line, names.error().message, names.error().hint);
        }
        const auto group = builder.group(each.name);
        for (const auto& name : *names) {
            builder.add_host(group, builder.host(name));
        }
    }
    return builder.build();
}

} // namespace dockdist
