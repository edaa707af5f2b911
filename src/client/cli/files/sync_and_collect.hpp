// Files to the nodes and back, around what commands do: `sync:` of the file before a job and after `up`,
// `collect:` after a job.
#pragma once

#include "client/cli/context.hpp"
#include "client/sync/synchroniser.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace dockdist {

struct JobOutcome;

struct SyncAndCollectOptions {
    bool no_sync = false;
    bool no_collect = false;
};
void add_sync_and_collect_options(CLI::App& command, SyncAndCollectOptions& options);
void add_no_collect(CLI::App& command, SyncAndCollectOptions& options);

// One entry of `sync:`, as it is here at this moment.
struct Source {
    SyncSpec spec{};
    LocalTree tree{};
    std::string shown{}; // as a person would write it
};
// Every entry; warns of what is left out, where `warn`.
Result<std::vector<Source>> read_sources(const Context& context, const ClusterSpec& spec, bool warn);
// Which files of a node `sync` sends again, as they are here. What is here is looked at with the first
// question; the file outlives it.
std::function<std::optional<std::uint64_t>(const std::string& path)> sent_by_sync(const Context& context,
                                                                                  const ClusterSpec& spec);
// Files that changed while they were sent, as a warning.
void warn_of_unsettled(const Context& context, const SyncedTree& synced);

wire::SyncOpening sync_opening_of(const ClusterSpec& spec);

// Brings every entry to the nodes, and tells in one line what that was, if anything.
Task<Errors> sync_first(Context& context, const ClusterSpec& spec, const Engines& engines,
                        std::vector<ReadyNode> nodes, const SyncAndCollectOptions& options = {});

// Where a job that runs in `workdir` (empty: perhaps beside its code) did not find what a rule has left out
// of `sync:`, its failure says so.
void explain_left_out(const ClusterSpec& spec, const std::string& workdir, wire::JobFailure& failure);

// Fetches what `collect:` names from every node that took part; tells it in one line, and what failed. False
// when something did.
Task<bool> collect_after(Context& context, const Attached& cluster, const JobOutcome& outcome,
                         const JobId& job, const SyncAndCollectOptions& options);

} // namespace dockdist
