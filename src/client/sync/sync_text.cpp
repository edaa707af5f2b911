#include "client/sync/sync_text.hpp"

#include "client/sync/missing_file.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

std::string action_line(const LocalTree& tree, const SyncAction& action) {
    using Action = SyncAction::Kind;
    if (action.kind == Action::remove) {
        return "remove " + printable(action.name);
    }
    const auto& entry = tree.entries[action.entry];
    const auto name = printable(entry.name);
    switch (action.kind) {
    case Action::send:
        return fmt::format("send {} ({})", name, format_size(Bytes{entry.size}));
    case Action::make_folder:
        return "make " + name + "/";
    case Action::link:
        return fmt::format("link {} → {}", name, printable(entry.target));
    case Action::set_mode:
        return fmt::format("mode {} {:03o}", name, entry.mode);
    default:
        return "time " + name;
    }
}

std::string node_list(const std::vector<std::string>& names) {
    return names.size() > 3 ? counted(names.size(), "node") : fmt::format("{}", fmt::join(names, ", "));
}

// Nodes whose plans read alike, in the order of the first of each.
std::vector<std::pair<std::string, std::vector<std::string>>>
grouped(const SyncedTree& synced, const std::function<std::string(const SyncedNode&)>& text) {
    std::vector<std::pair<std::string, std::vector<std::string>>> groups;
    for (const auto& node : synced.nodes) {
        if (!node.errors.empty() || !node.shared_with.empty()) {
            continue;
        }
        const auto said = text(node);
        auto group =
            std::ranges::find(groups, said, &std::pair<std::string, std::vector<std::string>>::first);
        if (group == groups.end()) {
            groups.push_back({said, {}});
            group = groups.end() - 1;
        }
        group->second.push_back(node.node.str());
    }
    return groups;
}

} // namespace

std::string plan_summary(const SyncPlan& plan) {
    if (plan.empty()) {
        return "nothing to do";
    }
    std::string text;
    const auto add = [&text](std::string part) { text += (text.empty() ? "" : ", ") + std::move(part); };
    if (plan.files > 0) {
        add(fmt::format("{} ({}) sent", counted(plan.files, "file"), format_size(Bytes{plan.bytes})));
    }
    if (plan.removed > 0) {
        add(fmt::format("{} removed", plan.removed));
    }
    if (plan.others > 0) {
        add(fmt::format("{} {} made or changed", plan.others,
                        plan.others == 1 ? "folder, link or mode" : "folders, links and modes"));
    }
    return text;
}

// Rules that leave out files first: folders are caches and the like, mostly.
std::string left_out_text(const LocalTree& tree) {
    constexpr std::size_t told_rules = 3;
    std::uint64_t files = 0;
    std::uint64_t folders = 0;
    std::vector<const LeftOutByRule*> rules;
    std::vector<const LeftOutByRule*> of_folders;
    for (const auto& rule : tree.left_out_by_rules) {
        files += rule.files;
        folders += rule.folders;
        (rule.files > 0 ? rules : of_folders).push_back(&rule);
    }
    rules.insert(rules.end(), of_folders.begin(), of_folders.end());
    std::string told;
    for (std::size_t i = 0; i < std::min(rules.size(), told_rules); ++i) {
        const auto& rule = *rules[i];
        const auto more = rule.files + rule.folders - 1;
        told += fmt::format("{}{}{}{} ({})", told.empty() ? "" : ", ", printable(rule.reason.name),
                            rule.reason.folder ? "/" : "", more > 0 ? fmt::format(" and {} more", more) : "",
                            rule_text(rule.reason));
    }
    if (rules.empty()) {
        return {};
    }
    if (rules.size() > told_rules) {
        told += fmt::format(", and by {}", counted(rules.size() - told_rules, "more rule"));
    }
    return fmt::format("{}{}{} left out by ignore rules: {}", files > 0 ? counted(files, "file") : "",
                       files > 0 && folders > 0 ? " and " : "", folders > 0 ? counted(folders, "folder") : "",
                       told);
}

std::string summary(const std::string& source, const std::string& target, const SyncedTree& synced) {
    std::string text;
    const auto groups = grouped(synced, [](const SyncedNode& node) { return plan_summary(node.plan); });
    for (const auto& [said, nodes] : groups) {
        text += text.empty() ? "" : "; ";
        text += groups.size() == 1 ? fmt::format("{} on {}", said, counted(nodes.size(), "node"))
                                   : fmt::format("{} on {}", said, node_list(nodes));
    }
    for (const auto& node : synced.nodes) {
        if (!node.shared_with.empty()) {
            text += fmt::format("; {} shared with {}", node.node.str(), node.shared_with);
        }
    }
    return fmt::format("{} → {}: {}", printable(source), printable(target), text);
}

std::string dry_run_text(const LocalTree& tree, const SyncedTree& synced) {
    std::string text;
    const auto groups = grouped(synced, [&tree](const SyncedNode& node) {
        std::string lines;
        for (const auto& action : node.plan.actions) {
            lines += "  " + action_line(tree, action) + "\n";
        }
        return lines.empty() ? std::string("  nothing to do\n") : lines;
    });
    for (const auto& [lines, nodes] : groups) {
        text += fmt::format("{}:\n{}", list_names(nodes), lines);
    }
    return text;
}

nlohmann::json to_json(const std::string& source, const std::string& target, const LocalTree& tree,
                       const SyncedTree& synced, bool actions) {
    nlohmann::json json{{"source", source}, {"target", target}, {"nodes", nlohmann::json::array()}};
    for (const auto& [reason, files, folders] : tree.left_out_by_rules) {
        json["left_out"].push_back({{"rule", reason.rule},
                                    {"from", reason.from},
                                    {"line", reason.line},
                                    {"files", files},
                                    {"folders", folders},
                                    {"first", reason.name}});
    }
    for (const auto& node : synced.nodes) {
        nlohmann::json row{{"node", node.node.str()}, {"ok", node.errors.empty()}};
        if (!node.shared_with.empty()) {
            row["shared_with"] = node.shared_with;
        } else {
            row["files"] = node.plan.files;
            row["bytes"] = node.plan.bytes;
            row["removed"] = node.plan.removed;
            row["others"] = node.plan.others;
        }
        for (const auto& action : node.plan.actions) {
            if (actions) {
                row["actions"].push_back(action_line(tree, action));
            }
        }
        json["nodes"].push_back(std::move(row));
    }
    return json;
}

} // namespace dockdist
