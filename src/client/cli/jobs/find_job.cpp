#include "client/cli/jobs/find_job.hpp"

#include "client/cli/host_answers.hpp"
#include "client/cli/kept_stores.hpp"
#include "client/job/select_nodes.hpp"
#include "client/plan/plan.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace dockdist {

void forget_lost(Errors& errors, const std::set<std::string>& lost, const FoundJob& found) {
    std::map<std::size_t, bool> lost_hosts; // of those that the job has nodes on
    for (const auto& node : expand_nodes(found.cluster.spec)) {
        const bool is_of_job = std::ranges::any_of(latest_of(found.job).policy.parts, [&](const auto& part) {
            return part.node == node.name.str();
        });
        if (is_of_job) {
            auto& all_lost = lost_hosts.try_emplace(node.host, true).first->second;
            all_lost = all_lost && lost.contains(node.name.str());
        }
    }
    for (const auto& [host, all_lost] : lost_hosts) {
        if (all_lost) {
            std::erase_if(errors, [&, label = host_label(found.cluster.spec.hosts[host])](
                                      const Error& error) { return error.where == label; });
        }
    }
    for (const auto& node : lost) {
        std::erase_if(errors, [&](const Error& error) {
            return error.where == node || error.where.starts_with(node + " on ");
        });
    }
}

namespace {

// What is wrong with hosts and nodes that the job has no part on.
Errors take_of_others(const FoundJob& found, Errors& errors) {
    const auto& spec = found.cluster.spec;
    const auto& parts = latest_of(found.job).policy.parts;
    std::set<std::string> others;
    std::set<std::string> own;
    for (const auto& node : expand_nodes(spec)) {
        const bool is_of_job = std::ranges::find(parts, node.name.str(),
                                                 [](const auto& part) { return part.node; }) != parts.end();
        auto& labels = is_of_job ? own : others;
        labels.insert({node.name.str(), node_label(node.name, spec.hosts[node.host]),
                       host_label(spec.hosts[node.host])});
    }
    Errors kept;
    Errors taken;
    for (auto& error : errors) {
        const bool elsewhere = !parts.empty() && others.contains(error.where) && !own.contains(error.where);
        (elsewhere ? taken : kept).push_back(std::move(error));
    }
    errors = std::move(kept);
    return taken;
}

} // namespace

Error no_job_before_up(const ClusterSpec& spec, const std::string& name) {
    return {ErrorKind::not_found, "",
            fmt::format("there is no job{}: {} has no nodes yet",
                        name.empty() ? "" : " `" + printable(name) + "`", spec.name.str()),
            "`dockdist up` creates them"};
}

namespace {

struct JobAsked {
    std::string name{}, node{};
    bool looks = true;
    StoreReaders* readers = nullptr; // null: only nodes that are up are asked
};

Task<void> find_job_in(Context& context, JobAsked asked, FoundJob& found) {
    const auto& name = asked.name;
    const NodeWords words{.option = "--node", .text = std::move(asked.node)};
    AttachOptions options{.looks = asked.looks, .words = Words::of_jobs};
    if (!words.text.empty()) {
        options.named.push_back(words);
    }
    found.cluster = co_await attach_to_cluster(context, std::move(options));
    const bool kept =
        asked.readers != nullptr && co_await open_kept_stores(context, found.cluster, *asked.readers);
    auto nodes = found.cluster.nodes;
    found.errors = std::move(found.cluster.errors);
    if (!words.text.empty() && !nodes.empty()) {
        auto some = named_nodes(found.cluster.spec, nodes, words);
        if (!some) {
            found.errors.push_back(some.error());
            co_return;
        }
        nodes = std::move(*some);
        found.errors.clear();
    }
    if (nodes.empty()) {
        if (!kept && has_no_nodes(found.cluster)) {
            found.unknown = true;
            found.errors = {no_job_before_up(found.cluster.spec, name)};
        }
        co_return;
    }
    auto list = co_await list_jobs(found.cluster.engines, nodes, context.reporter,
                                   {.name = named_run(JobId(name)).name});
    std::ranges::move(list.errors, std::back_inserter(found.errors));
    auto job = choose_job(list.jobs, JobId(name));
    if (!job) {
        found.errors.push_back(job.error());
        found.unknown = true;
        co_return;
    }
    found.job = std::move(*job);
    // Another job with its name, that was started while neither's nodes knew of the other's.
    for (const auto& other : list.jobs) {
        if (other.job == found.job.job &&
            other.parts.front().summary.token != found.job.parts.front().summary.token) {
            std::erase_if(found.cluster.nodes, [&](const ReadyNode& ready) {
                return std::ranges::any_of(
                    other.parts, [&](const KnownPart& part) { return part.node.name == ready.name; });
            });
        }
    }
    forget_lost(found.errors, left_out_of(found.job), found);
    warn_of_missing(context, take_of_others(found, found.errors));
    found.found = true;
}

} // namespace

Task<FoundJob> find_job(Context& context, std::string name, std::string node, bool looks) {
    FoundJob found;
    co_await find_job_in(context, {.name = std::move(name), .node = std::move(node), .looks = looks}, found);
    co_return found;
}

Task<void> find_kept_job(Context& context, std::string name, std::string node, FoundJob& found,
                         StoreReaders& readers) {
    return find_job_in(context, {.name = std::move(name), .node = std::move(node), .readers = &readers},
                       found);
}

} // namespace dockdist
