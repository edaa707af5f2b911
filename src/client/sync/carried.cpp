// A sync whose contents come another way: Synchroniser::Options::carry.
#include "client/sync/synchroniser.hpp"

#include <set>

namespace dockdist {
namespace {

using Kind = wire::SyncMessage::Kind;

// Without contents: what is done before they come, or behind them.
SyncPlan without_contents(const SyncPlan& plan, const LocalTree& tree, bool behind) {
    SyncPlan some;
    for (const auto& action : plan.actions) {
        const bool last = action.kind == SyncAction::Kind::set_mode &&
                          tree.entries[action.entry].type == wire::TreeEntry::Type::folder;
        if (action.kind != SyncAction::Kind::send && last == behind) {
            some.actions.push_back(action);
        }
    }
    return some;
}

} // namespace

Task<Status> Synchroniser::ask_origin(const LocalTree& tree) {
    std::set<std::uint32_t> doubts;
    for (const auto& lane : lanes_) {
        if (lane.comparison) {
            const auto own = lane.comparison->doubts();
            doubts.insert(own.begin(), own.end());
        }
    }
    if (options_.origin == nullptr || doubts.empty()) {
        co_return ok;
    }
    std::string messages;
    for (const auto entry : doubts) {
        wire::append(messages, {.kind = Kind::digest, .name = tree.entries[entry].name});
    }
    co_return co_await options_.origin->ask(std::move(messages), [&](auto message) {
        const auto at = tree.index.find(message.name);
        if (message.kind == Kind::hashed && at != tree.index.end() && !message.text.empty()) {
            digests_[at->second] = std::move(message.text);
        }
    });
}

Task<Status> Synchroniser::settle_and_plan(Lane& lane, const LocalTree& tree) {
    if (auto settled = co_await settle_doubts(lane, tree, *lane.comparison); !settled) {
        co_return settled;
    }
    lane.result.plan = lane.comparison->plan();
    co_return ok;
}

Task<void> Synchroniser::compare_and_carry(const LocalTree& tree, CompareOptions compare,
                                           std::vector<std::string>& unsettled) {
    co_await on_all([&](Lane& lane) {
        lane.comparison.emplace(tree, compare);
        return list(lane, *lane.comparison);
    });
    if (const auto asked = co_await ask_origin(tree); !asked) {
        for (auto& lane : lanes_) {
            lane.result.errors.push_back(asked.error());
        }
        co_return;
    }
    co_await on_all([&](Lane& lane) { return settle_and_plan(lane, tree); });
    if (options_.dry_run) {
        co_return;
    }
    const auto nothing = [](std::uint64_t) {};
    co_await on_all([&](Lane& lane) {
        return write_plan(lane, tree, without_contents(lane.result.plan, tree, false), unsettled, nothing);
    });
    std::vector<SyncedNode*> nodes;
    for (auto& lane : lanes_) {
        const bool at_work = lane.result.errors.empty() && lane.result.plan.files > 0;
        nodes.push_back(at_work ? &lane.result : nullptr);
    }
    co_await options_.carry(std::move(nodes));
    co_await on_all([&](Lane& lane) {
        return write_plan(lane, tree, without_contents(lane.result.plan, tree, true), unsettled, nothing);
    });
}

} // namespace dockdist
