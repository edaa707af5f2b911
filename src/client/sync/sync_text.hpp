// What a sync did, or would do, in words.
#pragma once

#include "client/sync/synchroniser.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace dockdist {

// "1 file (3.2 KiB) sent, 2 removed"; "nothing to do".
std::string plan_summary(const SyncPlan& plan);

// "2 files left out by ignore rules: data/train.bin, … (`*.bin` in .gitignore:3)"; empty: none is.
std::string left_out_text(const LocalTree& tree);

// One line for all nodes: "src → /workspace: 3 files (12.0 KiB) sent to 2 nodes; node-2 shares node-0's",
// "src → /workspace: nothing to do on 2 nodes".
std::string summary(const std::string& source, const std::string& target, const SyncedTree& synced);

// A line an action: "send src/a.py (3.2 KiB)". Nodes with the same plan are told together.
std::string dry_run_text(const LocalTree& tree, const SyncedTree& synced);

nlohmann::json to_json(const std::string& source, const std::string& target, const LocalTree& tree,
                       const SyncedTree& synced, bool actions);

} // namespace dockdist
