#include "client/cluster/replaced_nodes.hpp"

#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/cluster/hand_over.hpp"
#include "client/plan/labels.hpp"
#include "client/report/step.hpp"

#include <algorithm>
#include <iterator>

namespace dockdist {
namespace {

constexpr std::chrono::seconds stop_grace{10};

} // namespace

Task<Status> ReplacedNodes::set_aside(const CreateNode& create) {
    const auto aside = set_aside_name(spec_.name, create.node.name);
    // Noted first: a call that is cut off may have had its effect.
    old_.push_back({create.host, create.node.name, *create.replaces, create.container_name});
    if (create.replaces->name == aside) {
        co_return ok;
    }
    co_return co_await engines_[create.host]->rename_container(create.replaces->id, aside);
}

std::set<std::size_t> ReplacedNodes::hosts() const {
    std::set<std::size_t> hosts;
    for (const auto& old : old_) {
        hosts.insert(old.host);
    }
    return hosts;
}

bool ReplacedNodes::replaces(const NodeName& node) const {
    return std::ranges::find(old_, node, &Old::node) != old_.end();
}

bool ReplacedNodes::stopped_any() const {
    return std::ranges::any_of(old_, &Old::stopped);
}

Task<Status> ReplacedNodes::stop(Old& old) {
    Step step(reporter_, "replace", old.node.str(), "stop the old container");
    old.stopped = true;
    if (auto status = co_await engines_[old.host]->stop_container(old.container.id, stop_grace); !status) {
        step.failed(status.error().message);
        co_return status;
    }
    step.finished("stopped the old container");
    co_return ok;
}

Task<Status> ReplacedNodes::stop_on(std::size_t host) {
    std::vector<Task<Status>> tasks;
    for (auto& old : old_) {
        if (old.host == host && old.container.runs) {
            tasks.push_back(stop(old));
        }
    }
    for (auto& stopped : co_await run_all(std::move(tasks))) {
        if (!stopped) {
            co_return std::move(stopped);
        }
    }
    co_return ok;
}

// What it has kept of its jobs is the new one's from now on; where that fails, it stays.
Task<Errors> ReplacedNodes::hand_over_and_remove(const Old& old) {
    auto left = co_await hand_over_jobs(*engines_[old.host],
                                        {old.node, old.container.id, ContainerId(old.own_name)}, reporter_);
    if (!left) {
        auto error = left.error();
        error.where = host_label(spec_.hosts[old.host]);
        error.hint = "the next `dockdist up` tries again";
        co_return Errors{std::move(error)};
    }
    if (auto removed = co_await remove(old); !removed) {
        left->push_back(removed.error());
    }
    co_return std::move(*left);
}

Task<Status> ReplacedNodes::remove(const Old& old) {
    Step step(reporter_, "replace", old.node.str(), "remove the old container");
    if (auto status = co_await engines_[old.host]->remove_container(old.container.id); !status) {
        step.failed(status.error().message);
        auto error = status.error();
        error.where = host_label(spec_.hosts[old.host]);
        error.message = "the old container of " + old.node.str() + " could not be removed: " + error.message;
        error.hint = "the next `dockdist up` removes it";
        co_return error;
    }
    step.finished("removed the old container");
    co_return ok;
}

Task<Errors> ReplacedNodes::remove(std::vector<bool> hosts) {
    std::vector<Task<Errors>> tasks;
    for (const auto& old : old_) {
        if (hosts[old.host]) {
            tasks.push_back(hand_over_and_remove(old));
        }
    }
    Errors errors;
    for (auto& of_one : co_await run_all(std::move(tasks))) {
        std::ranges::move(of_one, std::back_inserter(errors));
    }
    co_return errors;
}

// A create that was cut off may still be under way: the engine reserves the name at once, and shows the
// container when it is done.
Task<Status> ReplacedNodes::give_name_back(const Old& old, const std::string& attempt) {
    auto& engine = *engines_[old.host];
    constexpr int most_tries = 50;
    for (int tries = 0;; ++tries) {
        const auto there =
            co_await engine.inspect_container(ContainerId(old.own_name)); // engines take names, too
        if (there && there->id == old.container.id) {
            co_return ok; // it was never renamed
        }
        if (!there && there.error().kind != ErrorKind::not_found) {
            co_return there.error();
        }
        if (there && label_of(there->labels, labels::attempt) == attempt) {
            if (auto removed = co_await engine.remove_container(there->id); !removed) {
                co_return removed;
            }
        }
        auto renamed = co_await engine.rename_container(old.container.id, old.own_name);
        if (renamed || renamed.error().kind != ErrorKind::conflict || there || tries == most_tries) {
            co_return renamed;
        }
        co_await pause_for(std::chrono::milliseconds(100));
    }
}

Task<Status> ReplacedNodes::bring_back(const Old& old, const std::string& attempt) {
    Step step(reporter_, "replace", old.node.str(), "bring the old container back");
    auto status = co_await give_name_back(old, attempt);
    if (status && old.stopped) {
        // A stop that was cut off goes on in the engine, and must not end what has been started.
        (void)co_await engines_[old.host]->stop_container(old.container.id, stop_grace);
        status = co_await engines_[old.host]->start_container(old.container.id);
    }
    if (!status) {
        step.failed(status.error().message);
        auto error = status.error();
        error.where = host_label(spec_.hosts[old.host]);
        error.message =
            "the old container of " + old.node.str() + " could not be brought back: " + error.message;
        error.hint = "the next `dockdist up` uses it, or recreates the node";
        co_return error;
    }
    step.finished("the old container is back");
    co_return ok;
}

Task<Errors> ReplacedNodes::bring_back(std::string attempt, std::vector<bool> hosts) {
    std::vector<Task<Status>> tasks;
    for (const auto& old : old_) {
        if (hosts[old.host]) {
            tasks.push_back(bring_back(old, attempt));
        }
    }
    Errors errors;
    for (const auto& back : co_await run_all(std::move(tasks))) {
        if (!back) {
            errors.push_back(back.error());
        }
    }
    co_return errors;
}

} // namespace dockdist
