#include "client/cluster/find_losses.hpp"

#include "client/async/run_all.hpp"

#include <utility>

namespace dockdist {
namespace {

// `taken_over`: a node takes over what it has kept of its jobs.
Task<Status> look_into(ContainerEngine& engine, ContainerId id, LostFiles& lost, bool taken_over,
                       const ComesAgain& comes_again) {
    const auto diff = co_await engine.container_diff(std::move(id));
    if (diff) {
        lost = lost_files(*diff, comes_again);
        lost.jobs = taken_over ? 0 : lost.jobs;
    } else if (diff.error().kind != ErrorKind::not_found) {
        lost.unknown = diff.error().message;
    }
    co_return ok;
}

} // namespace

Task<void> find_losses(const Engines& engines, Plan& plan, ComesAgain comes_again) {
    std::vector<Task<Status>> tasks;
    for (auto& removal : plan.removals) {
        tasks.push_back(look_into(*engines[removal.host], removal.id, removal.lost,
                                  removal.takes_over.has_value(), comes_again));
    }
    for (auto& create : plan.creates) {
        if (create.replaces) {
            tasks.push_back(
                look_into(*engines[create.host], create.replaces->id, create.lost, true, comes_again));
        }
    }
    co_await run_all(std::move(tasks));
}

Errors losses_of(const Plan& plan, const ClusterSpec& spec) {
    Errors losses;
    const auto note = [&](std::size_t host, const std::string& container, const LostFiles& lost) {
        if (lost.any()) {
            losses.push_back(
                {ErrorKind::conflict, container + " on " + host_label(spec.hosts[host]), to_text(lost), ""});
        }
    };
    for (const auto& removal : plan.removals) {
        note(removal.host, removal.name, removal.lost);
    }
    for (const auto& create : plan.creates) {
        note(create.host, create.node.name.str(), create.lost);
    }
    return losses;
}

} // namespace dockdist
