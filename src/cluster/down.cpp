#include "cluster/down.hpp"

#include "async/run_all.hpp"
#include "cluster/lock.hpp"
#include "plan/labels.hpp"
#include "plan/plan.hpp"
#include "report/step.hpp"

#include <fmt/format.h>

namespace dockdist {
namespace {

std::string label(const char* name, const std::string& value) {
    return std::string(name) + "=" + value;
}

std::string count_of_containers(std::size_t count) {
    return fmt::format("{} container{} removed", count, count == 1 ? "" : "s");
}

// Removes every container that bears `wanted`, and looks again: a create that was cut off may land late.
Task<Result<int>> remove_labelled(ContainerEngine& engine, std::vector<std::string> wanted) {
    int removed = 0;
    for (int round = 0; round < 3; ++round) {
        const auto containers = co_await engine.list_containers({.labels = wanted});
        if (!containers) {
            co_return containers.error();
        }
        if (containers->empty()) {
            break;
        }
        std::vector<Task<Status>> removals;
        for (const auto& container : *containers) {
            removals.push_back(engine.remove_container(container.id));
        }
        for (const auto& removal : co_await run_all(std::move(removals))) {
            if (!removal) {
                co_return removal.error();
            }
            ++removed;
        }
    }
    co_return removed;
}

Task<Result<int>> remove_on_host(const HostSpec& host, ContainerEngine& engine,
                                 std::vector<std::string> wanted, std::string volume, Reporter& reporter) {
    Step step(reporter, "remove", host.name.str(), "remove containers");
    auto removed = co_await remove_labelled(engine, std::move(wanted));
    if (removed && !volume.empty()) {
        for (const auto& name : {volume, std::string(labels::gpu_volume)}) {
            const auto gone = co_await engine.remove_volume(name);
            if (!gone &&
                gone.error().kind != ErrorKind::conflict) { // conflict: another cluster's nodes use it
                removed = gone.error();
            }
        }
        // Of an `image push` whose client was killed; conflict: another one is at work.
        const auto version = volume.substr(std::string_view(labels::toolkit_volume_prefix).size());
        (void)co_await engine.remove_image(ImageRef("dockdist-relay:" + version));
    }
    if (!removed) {
        auto error = removed.error();
        error.where = host_label(host);
        step.failed(error.message);
        co_return error;
    }
    step.finished(count_of_containers(static_cast<std::size_t>(*removed)));
    co_return removed;
}

// What stands in the way of `down`: the lock of somebody alive, or a first host that does not answer.
struct Obstacle {
    std::optional<Error> lock{};
    std::optional<Error> silence{};
};

Task<Obstacle> look_for_lock(const ClusterSpec& spec, ContainerEngine& engine) {
    const auto locks = co_await engine.list_containers(
        {.labels = {label(labels::cluster, spec.name.str()), label(labels::role, "lock")}});
    if (!locks) {
        co_return Obstacle{.silence = locks.error()};
    }
    if (locks->empty()) {
        co_return Obstacle{};
    }
    const auto info = co_await engine.info();
    co_return Obstacle{.lock = locked_by(locks->front(), host_label(spec.hosts.front()),
                                         age_of(locks->front(), info ? info->system_time : ""))};
}

// A host that did not answer is not made to miss a second deadline.
Task<Result<int>> tell_silence(const HostSpec& host, Error error, Reporter& reporter) {
    Step step(reporter, "remove", host.name.str(), "remove containers");
    step.failed(error.message);
    error.where = host_label(host);
    co_return error;
}

} // namespace

Task<DownResult> down(const ClusterSpec& spec, const Engines& engines, const DownOptions& options,
                      Reporter& reporter) {
    DownResult result;
    Obstacle obstacle;
    if (!options.break_lock) {
        obstacle = co_await look_for_lock(spec, *engines.front());
        if (obstacle.lock) {
            result.errors.push_back(std::move(*obstacle.lock));
            co_return result;
        }
    }
    const auto volume =
        options.purge ? labels::toolkit_volume_prefix + options.toolkit_version : std::string();
    std::vector<Task<Result<int>>> tasks;
    for (std::size_t i = 0; i < engines.size(); ++i) {
        tasks.push_back(i == 0 && obstacle.silence
                            ? tell_silence(spec.hosts[i], *obstacle.silence, reporter)
                            : remove_on_host(spec.hosts[i], *engines[i],
                                             {label(labels::cluster, spec.name.str())}, volume, reporter));
    }
    for (const auto& removed : co_await run_all(std::move(tasks))) {
        if (removed) {
            result.removed += *removed;
        } else {
            result.errors.push_back(removed.error());
        }
    }
    co_return result;
}

Task<Errors> take_back(const ClusterSpec& spec, const Engines& engines, const std::string& attempt,
                       Reporter& reporter) {
    std::vector<Task<Result<int>>> tasks;
    for (std::size_t i = 0; i < engines.size(); ++i) {
        tasks.push_back(
            remove_on_host(spec.hosts[i], *engines[i], {label(labels::attempt, attempt)}, "", reporter));
    }
    Errors errors;
    for (const auto& removed : co_await run_all(std::move(tasks))) {
        if (!removed) {
            auto error = removed.error();
            error.message = "could not take back what this `up` made: " + error.message;
            error.hint = "run `dockdist down` when the host answers again";
            errors.push_back(std::move(error));
        }
    }
    co_return errors;
}

} // namespace dockdist
