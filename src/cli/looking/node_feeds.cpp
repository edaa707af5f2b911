#include "cli/looking/node_feeds.hpp"

#include "async/pause.hpp"
#include "async/run_all.hpp"
#include "observe/ask_samples.hpp"
#include "plan/plan.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto between_tries = 2s;
constexpr auto between_looks = 5s; // for nodes that are not there
constexpr int most_tries = 2;      // at a node's container, before it may be another one

} // namespace

NodeFeeds::NodeFeeds(const Context& context, const Connected& cluster, const std::vector<std::string>& only,
                     int interval_ms, Hears hears)
    : cluster_(cluster), interval_ms_(interval_ms), hears_(std::move(hears)), changed_(context.executor) {
    for (const auto& node : expand_nodes(cluster.spec)) {
        if (only.empty() || std::ranges::find(only, node.name.str()) != only.end()) {
            names_.push_back(node.name.str());
            hosts_.push_back(node.host);
        }
    }
    doors_.resize(names_.size());
}

Task<Errors> NodeFeeds::look() {
    std::vector<bool> wanted(cluster_.spec.hosts.size());
    for (std::size_t i = 0; i < names_.size(); ++i) {
        wanted[hosts_[i]] = wanted[hosts_[i]] || !doors_[i];
    }
    SilentReporter silent; // what comes of it is told as each node's trouble
    const auto observation = co_await observe(cluster_.spec, cluster_.engines, "", silent, wanted);
    auto ready = ready_nodes(cluster_.spec, observation.cluster, observation.reached);
    Errors errors;
    for (std::size_t i = 0; i < names_.size(); ++i) {
        if (doors_[i]) {
            continue;
        }
        const auto named = [&](const auto& node) { return node.name.str() == names_[i]; };
        if (const auto found = std::ranges::find_if(ready.nodes, named); found != ready.nodes.end()) {
            doors_[i] = std::move(*found);
            continue;
        }
        const auto& host = cluster_.spec.hosts[hosts_[i]];
        Error why{ErrorKind::not_found, names_[i], "the node is not ready", "see `dockdist status`"};
        for (const Errors* all : {&observation.errors, &std::as_const(ready.errors)}) {
            for (const auto& error : *all) {
                if (error.where == names_[i] || error.where == host_label(host)) {
                    why = error;
                }
            }
        }
        hears_.trouble(i, why);
        errors.push_back(std::move(why));
    }
    changed_.notify();
    co_return errors;
}

Task<Status> NodeFeeds::follow(std::size_t index) {
    int tries = 0;
    while (true) {
        while (!doors_[index]) {
            co_await changed_.wait_for_change();
        }
        const auto door = *doors_[index];
        auto ended = co_await follow_samples(
            *cluster_.engines[door.host], door, interval_ms_,
            [this, index, &tries](const wire::SampleFacts& facts, wire::Sample sample) {
                tries = 0;
                hears_.sample(index, facts, std::move(sample));
            });
        ended.where = names_[index];
        hears_.trouble(index, ended);
        if (++tries >= most_tries) {
            tries = 0;
            doors_[index].reset();
            changed_.notify();
        }
        co_await pause_for(between_tries);
    }
}

Task<Status> NodeFeeds::find_again() {
    while (true) {
        while (std::ranges::all_of(doors_, [](const auto& door) { return door.has_value(); })) {
            co_await changed_.wait_for_change();
        }
        co_await pause_for(between_looks);
        (void)co_await look();
    }
}

Task<Error> NodeFeeds::run() {
    std::vector<Task<Status>> tasks;
    for (std::size_t i = 0; i < names_.size(); ++i) {
        tasks.push_back(follow(i));
    }
    tasks.push_back(find_again());
    const auto ended = co_await run_all(std::move(tasks));
    co_return ended.front().error();
}

} // namespace dockdist
