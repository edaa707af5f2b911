#include "client/cluster/down.hpp"

#include "client/async/run_all.hpp"
#include "client/cluster/lock.hpp"
#include "client/cluster/toolkit_bringer.hpp"
#include "client/job/running_jobs.hpp"
#include "client/observe/ask_members.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/origin.hpp"
#include "client/plan/plan.hpp"
#include "client/report/step.hpp"
#include "shared/core/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

namespace dockdist {
namespace {

std::string label(const char* name, const std::string& value) {
    return std::string(name) + "=" + value;
}

std::string count_of_containers(std::size_t count) {
    return fmt::format("{} removed", counted(count, "container"));
}

using Containers = Result<std::vector<ContainerSummary>>;

// Removes every container that bears `wanted`, of which `seen` is a first look, and looks again: a create
// that was cut off may land late.
Task<Result<int>> remove_labelled(ContainerEngine& engine, std::vector<std::string> wanted, Containers seen) {
    int removed = 0;
    for (int round = 0; round < 3; ++round) {
        CO_TRY(seen);
        if (seen->empty()) {
            break;
        }
        std::vector<Task<Status>> removals;
        for (const auto& container : *seen) {
            removals.push_back(engine.remove_container(container.id));
        }
        for (const auto& removal : co_await run_all(std::move(removals))) {
            CO_TRY(removal);
            ++removed;
        }
        seen = co_await engine.list_containers({.labels = wanted});
    }
    co_return removed;
}

struct RemovedOnHost {
    int containers = 0, purged = 0, stores = 0;
};

// Volumes in which nodes keep what their jobs leave are counted, or removed. `own`: labels::origin; where it
// made none of the nodes there, it removes nobody else's; empty: whoever asks means all.
Task<Result<RemovedOnHost>> see_to_stores(ContainerEngine& engine, const ClusterSpec& spec, std::string own,
                                          bool remove, RemovedOnHost so_far) {
    const auto volumes =
        co_await engine.list_volumes({label(labels::cluster, spec.name.str()), label(labels::role, "store")});
    if (!volumes) {
        co_return remove ? Result<RemovedOnHost>(volumes.error()) : so_far;
    }
    for (const auto& volume : *volumes) {
        if (volume.name != labels::store_volume(spec.name.str(), label_of(volume.labels, labels::node))) {
            continue;
        }
        const auto another = own.empty() ? std::nullopt : another_origin(volume.labels, own);
        if (remove && another && so_far.containers == 0) {
            co_return of_another_file(spec.name, *another, "which has kept the jobs of its nodes",
                                      "down --purge");
        }
        const auto gone = remove ? co_await engine.remove_volume(volume.name) : Status(ok);
        if (!gone) {
            auto error = gone.error();
            error.message = "what a node has kept of its jobs is not removed: " + error.message;
            error.hint = error.kind == ErrorKind::conflict
                             ? "a container uses the volume: remove that, then `dockdist down --purge` again"
                             : error.hint;
            co_return error;
        }
        ++(remove ? so_far.purged : so_far.stores);
    }
    co_return so_far;
}

// Stores that this `up` has made: nothing has come into them that is not elsewhere, too.
Task<Result<RemovedOnHost>> remove_new_stores(ContainerEngine& engine, std::string attempt,
                                              RemovedOnHost so_far) {
    const auto volumes =
        co_await engine.list_volumes({label(labels::attempt, attempt), label(labels::role, "store")});
    CO_TRY(volumes);
    for (const auto& volume : *volumes) {
        if (volume.name == labels::store_volume(label_of(volume.labels, labels::cluster),
                                                label_of(volume.labels, labels::node))) {
            CO_TRY(co_await engine.remove_volume(volume.name));
        }
    }
    co_return so_far;
}

// What is to be done beside the containers.
struct Rest {
    std::vector<std::string> toolkits{}; // whose volumes and images go
    bool purge = false;                  // the stores go
    bool stores_unknown = false;         // whether any stay, nobody has told
    std::string own{};                   // labels::origin, or empty
    std::string attempt{};               // of an `up` that takes back what it has made; or empty
};

Task<Result<RemovedOnHost>> remove_on_host(const ClusterSpec& spec, std::size_t index,
                                           ContainerEngine& engine, std::vector<std::string> wanted,
                                           Containers seen, Rest rest, Reporter& reporter) {
    const auto& host = spec.hosts[index];
    const auto& toolkits = rest.toolkits;
    Step step(reporter, "remove", host.name.str(), "remove containers");
    const auto containers = co_await remove_labelled(engine, std::move(wanted), std::move(seen));
    auto removed = containers ? Result<RemovedOnHost>(RemovedOnHost{.containers = *containers})
                              : Result<RemovedOnHost>(containers.error());
    if (removed && (rest.purge || rest.stores_unknown)) {
        removed = co_await see_to_stores(engine, spec, rest.own, rest.purge, *removed);
    }
    if (removed && !rest.attempt.empty()) {
        removed = co_await remove_new_stores(engine, rest.attempt, *removed);
    }
    if (removed && !toolkits.empty()) {
        std::vector<std::string> volumes{labels::gpu_volume};
        for (const auto& version : toolkits) {
            volumes.push_back(labels::toolkit_volume_prefix + version);
        }
        for (const auto& name : volumes) {
            const auto gone = co_await engine.remove_volume(name);
            if (!gone &&
                gone.error().kind != ErrorKind::conflict) { // conflict: another cluster's nodes use it
                removed = gone.error();
            }
        }
        // Of an `image push` or an `up` whose client was killed; conflict: another one is at work.
        for (const auto& version : toolkits) {
            for (const auto& image : {"dockdist-relay:" + version, toolkit_image(version)}) {
                (void)co_await engine.remove_image(ImageRef(image));
            }
        }
    }
    if (!removed) {
        auto error = removed.error();
        error.where = host_label(host);
        step.failed(error.message);
        co_return error;
    }
    step.finished(count_of_containers(static_cast<std::size_t>(removed->containers)));
    co_return removed;
}

// `only`: the hosts to look at, nothing is seen of the others; empty: all.
Task<std::vector<Containers>> look(const Engines& engines, std::vector<std::string> wanted,
                                   std::vector<bool> only = {}) {
    std::vector<Task<Containers>> looks;
    for (std::size_t i = 0; i < engines.size(); ++i) {
        if (only.empty() || only[i]) {
            looks.push_back(engines[i]->list_containers({.labels = wanted}));
        }
    }
    auto found = co_await run_all(std::move(looks));
    for (std::size_t i = 0; i < only.size(); ++i) {
        if (!only[i]) {
            found.insert(found.begin() + static_cast<std::ptrdiff_t>(i), Containers());
        }
    }
    co_return found;
}

Task<std::optional<Error>> locked(const HostSpec& host, ContainerEngine& engine,
                                  const std::vector<ContainerSummary>& seen,
                                  const std::optional<VolumeDetails>& lock) {
    const auto older = std::ranges::find_if(
        seen, [](const ContainerSummary& one) { return label_of(one.labels, labels::role) == "lock"; });
    if (!lock && older == seen.end()) {
        co_return std::nullopt;
    }
    const auto info = co_await engine.info();
    const auto now = info ? info->system_time : "";
    const auto where = host_label(host);
    auto error = lock ? locked_by(lock->labels, where, age_of(lock->created_s, now)) : std::nullopt;
    if (!error && older != seen.end()) {
        error = locked_by(older->labels, where, age_of(older->created_s, now));
    }
    co_return error;
}

Task<std::optional<VolumeDetails>> look_at_lock(const ClusterSpec& spec, ContainerEngine& engine) {
    auto lock = co_await engine.inspect_volume(lock_name(spec.name));
    const bool is_ours = lock && label_of(lock->labels, labels::cluster) == spec.name.str();
    co_return is_ours ? std::optional(std::move(*lock)) : std::nullopt;
}

struct SeenNodes {
    std::vector<ReadyNode> running{};
    Errors paused{};
    std::set<std::string> names{}; // of all
};

SeenNodes nodes_in(const std::vector<Containers>& seen) {
    SeenNodes nodes;
    std::set<ContainerId> known; // two hosts of the file may be one engine
    for (std::size_t host = 0; host < seen.size(); ++host) {
        for (const auto& container : seen[host] ? *seen[host] : std::vector<ContainerSummary>()) {
            if (label_of(container.labels, labels::role) != "node" || !known.insert(container.id).second) {
                continue;
            }
            const NodeName name(label_of(container.labels, labels::node));
            nodes.names.insert(name.str());
            if (container.state == ContainerState::running) {
                nodes.running.push_back({name, container.id, host, {}});
            } else if (container.state == ContainerState::paused) {
                nodes.paused.push_back(paused_node(name));
            }
        }
    }
    return nodes;
}

// Only what runs can have work on it. One that is paused has, maybe, and cannot say so.
Task<JobsThere> ask_for_jobs(const Engines& engines, const SeenNodes& nodes) {
    auto there = co_await find_running_jobs(engines, nodes.running);
    there.silent.insert(there.silent.end(), nodes.paused.begin(), nodes.paused.end());
    co_return there;
}

// A host that did not answer is not made to miss a second deadline.
Task<Result<RemovedOnHost>> tell_silence(const HostSpec& host, Error error, Reporter& reporter) {
    Step step(reporter, "remove", host.name.str(), "remove containers");
    step.failed(error.message);
    error.where = host_label(host);
    co_return error;
}

std::optional<Error> judge_origin(const ClusterSpec& spec, const std::vector<Containers>& seen,
                                  const std::string& own) {
    for (const auto& containers : seen) {
        if (!containers || own.empty()) {
            continue;
        }
        for (const auto& container : *containers) {
            if (const auto origin = another_origin(container.labels, own);
                origin && label_of(container.labels, labels::role) == "node") {
                return of_another_file(spec.name, *origin, "and not from this file", "down");
            }
        }
    }
    return std::nullopt;
}

} // namespace

Task<DownResult> down(const ClusterSpec& spec, const Engines& engines, const DownOptions& options,
                      Reporter& reporter) {
    DownResult result;
    const std::vector<std::string> wanted{label(labels::cluster, spec.name.str())};
    auto seen = co_await look(engines, wanted);
    if (auto another = judge_origin(spec, seen, options.origin)) {
        result.errors.push_back(std::move(*another));
        co_return result;
    }
    // As `up` has it: on the first host that is there.
    const auto there = std::ranges::find_if(seen, [](const Containers& one) { return one.has_value(); });
    const auto lock_host = static_cast<std::size_t>(there - seen.begin());
    std::optional<VolumeDetails> lock;
    if (there != seen.end()) {
        auto& engine = *engines[lock_host];
        lock = co_await look_at_lock(spec, engine);
        if (!options.break_lock) {
            if (auto held = co_await locked(spec.hosts[lock_host], engine, **there, lock)) {
                result.errors.push_back(std::move(*held));
                co_return result;
            }
        }
    }
    auto nodes = nodes_in(seen);
    result.errors = co_await make_way(engines, co_await ask_for_jobs(engines, nodes), options.stop_jobs,
                                      "`down` would end it", reporter);
    if (!result.errors.empty()) {
        co_return result;
    }
    std::set<std::size_t> told;
    std::ranges::transform(nodes.running, std::inserter(told, told.end()), &ReadyNode::host);
    // Of an allocation nobody comes back to it: its cluster's name is its own.
    const bool forgets = options.purge || !spec.slurm_job.empty();
    if (!forgets) { // while they can say so
        result.kept = co_await ask_kept(engines, nodes.running);
    }
    if (!options.some_hosts) { // while there is somebody who knows
        result.orphans = find_orphans(spec, std::move(nodes.names),
                                      co_await ask_members(engines, std::move(nodes.running)));
    }
    Rest rest{.toolkits = options.purge ? options.toolkits : std::vector<std::string>(),
              .purge = forgets,
              .own = options.origin};
    std::vector<Task<Result<RemovedOnHost>>> tasks;
    for (std::size_t i = 0; i < engines.size(); ++i) {
        rest.stores_unknown = !forgets && !told.contains(i);
        tasks.push_back(seen[i]
                            ? remove_on_host(spec, i, *engines[i], wanted, std::move(seen[i]), rest, reporter)
                            : tell_silence(spec.hosts[i], seen[i].error(), reporter));
    }
    for (const auto& removed : co_await run_all(std::move(tasks))) {
        if (removed) {
            result.removed += removed->containers;
            result.purged += removed->purged;
            result.stores += removed->stores;
        } else {
            result.errors.push_back(removed.error());
        }
    }
    if (lock) { // it is stale, or to be broken
        (void)co_await engines[lock_host]->remove_volume(lock->name);
    }
    co_return result;
}

Task<Errors> take_back(const ClusterSpec& spec, const Engines& engines, const std::string& attempt,
                       Reporter& reporter, std::vector<bool> only) {
    const std::vector<std::string> wanted{label(labels::attempt, attempt)};
    auto seen = co_await look(engines, wanted, only);
    std::vector<Task<Result<RemovedOnHost>>> tasks;
    for (std::size_t i = 0; i < engines.size(); ++i) {
        if (only.empty() || only[i]) {
            tasks.push_back(remove_on_host(spec, i, *engines[i], wanted, std::move(seen[i]),
                                           {.attempt = attempt}, reporter));
        }
    }
    Errors errors;
    for (const auto& removed : co_await run_all(std::move(tasks))) {
        if (!removed) {
            auto error = removed.error();
            error.message = "could not remove what this `up` created: " + error.message;
            error.hint = "run `dockdist down` when the host answers again";
            errors.push_back(std::move(error));
        }
    }
    co_return errors;
}

} // namespace dockdist
