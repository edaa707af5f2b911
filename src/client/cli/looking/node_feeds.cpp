#include "client/cli/looking/node_feeds.hpp"

#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/observe/ask_samples.hpp"
#include "client/plan/plan.hpp"

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
    ready_.resize(names_.size());
    missing_.resize(names_.size());
}

bool NodeFeeds::has_all(std::size_t host) const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
        if (hosts_[i] == host && !ready_[i]) {
            return false;
        }
    }
    return true;
}

std::vector<ReadyNode> NodeFeeds::found() const {
    std::vector<ReadyNode> nodes;
    for (const auto& node : ready_) {
        if (node) {
            nodes.push_back(*node);
        }
    }
    return nodes;
}

Task<Errors> NodeFeeds::first_found() {
    while (std::ranges::none_of(ready_, [](const auto& node) { return node.has_value(); })) {
        Errors errors;
        for (const auto& why : missing_) {
            if (why) {
                errors.push_back(*why);
            }
        }
        if (errors.size() == names_.size()) {
            co_return errors;
        }
        co_await changed_.wait_for_change();
    }
    co_return Errors{};
}

Task<void> NodeFeeds::look_at(std::size_t host_index) {
    if (has_all(host_index)) {
        co_return;
    }
    const auto& host = cluster_.spec.hosts[host_index];
    std::vector<bool> only(cluster_.spec.hosts.size());
    only[host_index] = true;
    SilentReporter silent; // what comes of it is told as each node's trouble
    const auto observation = co_await observe(cluster_.spec, cluster_.engines, {}, silent, std::move(only));
    auto ready = ready_nodes(cluster_.spec, observation.cluster, observation.reached);
    for (std::size_t i = 0; i < names_.size(); ++i) {
        if (hosts_[i] != host_index || ready_[i]) {
            continue;
        }
        const auto named = [&](const auto& node) { return node.name.str() == names_[i]; };
        if (const auto found = std::ranges::find_if(ready.nodes, named); found != ready.nodes.end()) {
            ready_[i] = std::move(*found);
            missing_[i].reset();
            continue;
        }
        Error why{ErrorKind::not_found, names_[i], "the node is not ready", "see `dockdist status`"};
        for (const Errors* all : {&observation.errors, &std::as_const(ready.errors)}) {
            for (const auto& error : *all) {
                if (error.where == host_label(host) || error.where == node_label(NodeName(names_[i]), host)) {
                    why = error;
                }
            }
        }
        hears_.trouble(i, why);
        missing_[i] = std::move(why);
    }
    changed_.notify();
}

Task<Status> NodeFeeds::follow(std::size_t index) {
    int tries = 0;
    while (true) {
        while (!ready_[index]) {
            co_await changed_.wait_for_change();
        }
        const auto node = *ready_[index];
        auto ended = co_await follow_samples(
            *cluster_.engines[node.host], node, interval_ms_,
            [this, index, &tries](const wire::SampleFacts& facts, wire::Sample sample) {
                tries = 0;
                hears_.sample(index, facts, std::move(sample));
            });
        ended.where = names_[index];
        hears_.trouble(index, ended);
        if (++tries >= most_tries) {
            tries = 0;
            ready_[index].reset();
            changed_.notify();
        }
        co_await pause_for(between_tries);
    }
}

Task<Status> NodeFeeds::find_nodes_of(std::size_t host) {
    co_await look_at(host);
    while (true) {
        while (has_all(host)) {
            co_await changed_.wait_for_change();
        }
        co_await pause_for(between_looks);
        co_await look_at(host);
    }
}

Task<Error> NodeFeeds::run() {
    std::vector<Task<Status>> tasks;
    for (std::size_t i = 0; i < names_.size(); ++i) {
        tasks.push_back(follow(i));
    }
    for (std::size_t host = 0; host < cluster_.spec.hosts.size(); ++host) {
        tasks.push_back(find_nodes_of(host));
    }
    const auto ended = co_await run_all(std::move(tasks));
    co_return ended.front().error();
}

} // namespace dockdist
