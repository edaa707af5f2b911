// A plan on its way to a node: read from disk piece by piece, never a whole file at once.
#pragma once

#include "client/async/task.hpp"
#include "client/sync/comparison.hpp"
#include "shared/tree/folder.hpp"

#include <functional>
#include <string>
#include <vector>

namespace dockdist {

struct PlanWriter {
    const LocalTree& tree;
    const SyncPlan& plan;
    std::function<Task<Status>(const std::string& messages)> write{};
    std::function<bool()> stopped{};                 // nothing more is wanted
    std::function<void(std::uint64_t bytes)> sent{}; // of files' content
    std::vector<std::string>& unsettled;             // files that changed while they were read

    // Ends with a barrier.
    Task<Status> run();

private:
    Task<Status> add_file(Folder& folder, const wire::TreeEntry& entry, std::string& out);
};

} // namespace dockdist
