// Trees of this machine, on every node: the nodes side by side, each over one stream.
#pragma once

#include "client/observe/observe.hpp"
#include "client/report/event.hpp"
#include "client/sync/comparison.hpp"
#include "client/sync/node_stream.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct SyncedNode {
    NodeName node{};
    std::string shared_with{}; // the node through which this one has the same files
    SyncPlan plan{};           // what was done, or would be
    Errors errors{};
};

struct SyncedTree {
    std::vector<SyncedNode> nodes{};      // in the nodes' order
    std::vector<std::string> unsettled{}; // files that changed while they were read: left out
    Errors errors() const;
};

class Synchroniser {
public:
    // Brings the files of each plan to its node, which has all folders for them, and leaves its errors there;
    // nullptr for a node that is out of it.
    using Carry = std::function<Task<void>(std::vector<SyncedNode*> nodes)>;
    struct Options {
        wire::SyncOpening opening{};
        bool dry_run = false;          // nothing is written, not even to find out what is shared
        bool share = true;             // look whether nodes share the folder
        std::vector<SyncExec> execs{}; // one a node; empty: `opening` for all
        Carry carry{};                 // nothing: contents go from here over the nodes' streams
        NodeStream* origin = nullptr;  // the tree is not here, but in the folder that this one has open
    };

    // All outlive it.
    Synchroniser(const Engines& engines, std::vector<ReadyNode> nodes, Options options, Reporter& reporter);

    // `target` is absolute: the folder that gets the tree's content, or the file's own name where the tree is
    // one file. What every node has is looked at anew each time.
    Task<SyncedTree> sync(const LocalTree& tree, std::string target, CompareOptions compare);

    // For each node the one through which it has the same folder, or nothing. Writes a token, where it may.
    Task<std::vector<std::string>> find_sharing(std::string folder);

    // The stream to a node, for what else there is to ask it.
    Task<Result<NodeStream*>> stream(std::size_t node);

    // What stands at a path of the first node; links are followed. The path is made absolute.
    Task<Result<wire::TreeEntry>> look(std::string path);

private:
    struct Lane {
        ReadyNode node{};
        std::unique_ptr<NodeStream> stream{}; // none: not open yet, or broken
        SyncExec exec{};
        bool there = false, maybe_shared = false;
        std::optional<Comparison> comparison{}; // where `carry` is set
        SyncedNode result{};
        std::uint64_t sent = 0;
        bool stopped = false; // the node can take no more
    };
    using Work = std::function<Task<Status>(Lane&)>;

    Task<void> on_all(Work work);
    Task<Status> ready(Lane& lane);
    Task<Status> open(Lane& lane, const std::string& folder, bool make);
    void reset_lanes();
    Task<void> find_shared();
    Task<Status> compare_and_send(Lane& lane, const LocalTree& tree, CompareOptions compare,
                                  std::vector<std::string>& unsettled);
    Task<void> compare_and_carry(const LocalTree& tree, CompareOptions compare,
                                 std::vector<std::string>& unsettled);
    Task<Status> ask_origin(const LocalTree& tree);
    Task<Status> settle_and_plan(Lane& lane, const LocalTree& tree);
    Task<Status> list(Lane& lane, Comparison& comparison);
    Task<Status> settle_doubts(Lane& lane, const LocalTree& tree, Comparison& comparison);
    Task<Status> send(Lane& lane, const LocalTree& tree, std::vector<std::string>& unsettled);
    Task<Status> write_plan(Lane& lane, const LocalTree& tree, SyncPlan plan,
                            std::vector<std::string>& unsettled, std::function<void(std::uint64_t)> sent);
    NodeStream::Handler collecting(Lane& lane, NodeStream::Handler handler = {}) const;

    const Engines& engines_;
    Options options_;
    Reporter& reporter_;
    std::vector<Lane> lanes_{};
    std::vector<std::optional<std::string>> digests_{}; // of the tree that is being compared
};

} // namespace dockdist
