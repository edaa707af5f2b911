#include "client/sync/comparison.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {

using wire::TreeEntry;
using Type = TreeEntry::Type;

Comparison::Comparison(const LocalTree& tree, CompareOptions options)
    : tree_(tree), options_(options), states_(tree.entries.size()) {}

std::vector<std::string> Comparison::folders_to_list() {
    if (!asked_for_tree_) {
        asked_for_tree_ = true;
        to_list_.emplace_back();
        for (const auto& entry : tree_.entries) {
            if (entry.type == Type::folder) {
                to_list_.push_back(entry.name);
            }
        }
    }
    return std::exchange(to_list_, {});
}

void Comparison::keep_folders_of(std::string_view name) {
    for (auto slash = name.rfind('/'); slash != std::string_view::npos; slash = name.rfind('/')) {
        name = name.substr(0, slash);
        kept_.emplace(name);
    }
}

void Comparison::node_has(const TreeEntry& found) {
    const auto at = tree_.index.find(found.name);
    const bool is_folder = found.type == Type::folder;
    if (at == tree_.index.end()) {
        if (options_.remove && tree_.single.empty()) {
            if (tree_.rules.ignored(found.name, is_folder)) {
                keep_folders_of(found.name);
            } else {
                extras_.push_back({found.name, is_folder});
                if (is_folder) {
                    to_list_.push_back(found.name);
                }
            }
        }
        return;
    }
    const auto& entry = tree_.entries[at->second];
    auto& state = states_[at->second];
    if (is_folder != (entry.type == Type::folder)) {
        state = in_the_way;
        if (is_folder && options_.remove) {
            to_list_.push_back(found.name);
        }
        return;
    }
    state = there;
    if (found.type != entry.type) {
        state |= content; // a link instead of a file: renamed over
        return;
    }
    switch (entry.type) {
    case Type::file:
        if (found.size != entry.size || options_.everything) {
            state |= content;
        } else if (found.time_ns != entry.time_ns) {
            state |= doubtful;
        }
        state |= found.mode != entry.mode ? mode : 0;
        break;
    case Type::folder:
        state |= found.mode != entry.mode ? mode : 0;
        break;
    default:
        state |= found.target != entry.target ? content : 0;
        break;
    }
}

std::vector<std::uint32_t> Comparison::doubts() const {
    std::vector<std::uint32_t> entries;
    for (std::uint32_t i = 0; i < states_.size(); ++i) {
        if ((states_[i] & doubtful) != 0) {
            entries.push_back(i);
        }
    }
    return entries;
}

void Comparison::plan_entry(std::uint32_t i, SyncPlan& plan) const {
    const auto& entry = tree_.entries[i];
    const auto state = states_[i];
    const auto add = [&](SyncAction::Kind kind) { plan.actions.push_back({.kind = kind, .entry = i}); };
    if ((state & in_the_way) != 0) {
        plan.actions.push_back({.kind = SyncAction::Kind::remove, .name = entry.name});
        ++plan.removed;
    }
    const bool missing = (state & there) == 0;
    const bool changed =
        missing || (state & content) != 0 || ((state & doubtful) != 0 && (state & only_time) == 0);
    if (entry.type == Type::folder) {
        if (missing) {
            add(SyncAction::Kind::make_folder);
            ++plan.others;
        }
        return; // modes come last
    }
    if (changed) {
        add(entry.type == Type::link ? SyncAction::Kind::link : SyncAction::Kind::send);
        (entry.type == Type::link ? plan.others : plan.files) += 1;
        plan.bytes += entry.size;
        return;
    }
    if ((state & mode) != 0) {
        add(SyncAction::Kind::set_mode);
        ++plan.others;
    }
    if ((state & only_time) != 0) {
        add(SyncAction::Kind::set_time);
    }
}

SyncPlan Comparison::plan() const {
    SyncPlan plan;
    std::vector<Extra> extras = extras_;
    std::ranges::sort(extras, [](const Extra& a, const Extra& b) { return a.name > b.name; }); // inner first
    for (auto& extra : extras) {
        if (!extra.folder || !kept_.contains(extra.name)) {
            plan.actions.push_back({.kind = SyncAction::Kind::remove, .name = std::move(extra.name)});
            ++plan.removed;
        }
    }
    // Modes of folders last: one that its owner may not write in is written into before.
    std::vector<std::uint32_t> folders;
    for (std::uint32_t i = 0; i < tree_.entries.size(); ++i) {
        plan_entry(i, plan);
        const auto& entry = tree_.entries[i];
        if (entry.type == Type::folder &&
            ((states_[i] & mode) != 0 || ((states_[i] & there) == 0 && (entry.mode & 0700U) != 0700U))) {
            folders.push_back(i);
        }
    }
    for (auto i = folders.rbegin(); i != folders.rend(); ++i) {
        plan.actions.push_back({.kind = SyncAction::Kind::set_mode, .entry = *i});
        plan.others += (states_[*i] & there) != 0 ? 1U : 0U;
    }
    return plan;
}

} // namespace dockdist
