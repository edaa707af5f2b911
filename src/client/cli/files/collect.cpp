// `collect:` of the file, after a job.
#include "client/async/run_all.hpp"
#include "client/cli/files/late_reporter.hpp"
#include "client/cli/files/sync_and_collect.hpp"
#include "client/job/run_job.hpp"
#include "client/sync/fetch.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace dockdist {
namespace {

struct Collected {
    std::uint64_t files = 0, bytes = 0;
    Errors errors{};
    std::vector<std::string> notes{}, warnings{};
};

// No link below `collected` is followed: an earlier job may have left some there.
FetchPlace place_below(const std::filesystem::path& into, const NodeName& node, const std::string& path) {
    const auto within = (into.filename() / node.str() / std::filesystem::path(path).relative_path());
    auto name = within.lexically_normal().string();
    while (name.ends_with('/')) {
        name.pop_back();
    }
    return {.root = into.parent_path().string(), .name = name};
}

Task<Collected> collect_from(Synchroniser& synchroniser, std::size_t index, NodeName name,
                             std::vector<std::string> paths, std::filesystem::path into, Reporter& reporter) {
    Collected all;
    const auto stream = co_await synchroniser.stream(index);
    if (!stream) {
        all.errors.push_back(stream.error());
        co_return all;
    }
    for (const auto& path : paths) {
        auto fetched = co_await fetch(**stream, path, place_below(into, name, path), reporter);
        if (!fetched) {
            all.errors.push_back(fetched.error());
            co_return all;
        }
        if (fetched->not_found) {
            all.notes.push_back(fmt::format("{} has no {}", name.str(), printable(path)));
        }
        all.files += fetched->files;
        all.bytes += fetched->bytes;
        std::ranges::move(fetched->errors, std::back_inserter(all.errors));
        std::ranges::move(fetched->left_out, std::back_inserter(all.warnings));
    }
    co_return all;
}

// The nodes that ran a part of the job and can still be asked.
std::vector<ReadyNode> nodes_of(const Attached& cluster, const JobOutcome& outcome) {
    std::vector<ReadyNode> nodes;
    for (const auto& part : outcome.nodes) {
        const auto found = std::ranges::find(cluster.nodes, part.node, &ReadyNode::name);
        if (part.result && !part.left_out && !part.spare && found != cluster.nodes.end()) {
            nodes.push_back(*found);
        }
    }
    return nodes;
}

} // namespace

Task<bool> collect_after(Context& context, const Attached& cluster, const JobOutcome& outcome,
                         const JobId& job, const SyncAndCollectOptions& options) {
    auto nodes = nodes_of(cluster, outcome);
    if (cluster.spec.collect.empty() || options.no_collect || outcome.detached || nodes.empty()) {
        co_return true;
    }
    const auto note = [&context](std::string text) {
        context.reporter->on({.kind = Event::Kind::note, .text = std::move(text)});
    };
    if (outcome.interrupted) {
        note("nothing is collected after Ctrl-C: `dockdist cp` fetches what is there");
        co_return true;
    }
    LateReporter reporter(*context.reporter);
    Synchroniser synchroniser(cluster.engines, nodes, {.opening = sync_opening_of(cluster.spec)}, reporter);
    std::vector<std::vector<std::string>> paths(nodes.size());
    for (const auto& path : cluster.spec.collect) {
        const auto shared = co_await synchroniser.find_sharing(path);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (shared[i].empty()) {
                paths[i].push_back(path);
            } else {
                note(fmt::format("{} of {} is shared with {}", printable(path), nodes[i].name.str(),
                                 shared[i]));
            }
        }
    }
    const auto folder = std::filesystem::absolute(cluster.spec.file).parent_path() / "collected" / job.str();
    std::vector<Task<Collected>> tasks;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const auto& name = nodes[i].name;
        tasks.push_back(collect_from(synchroniser, i, name, paths[i], folder, reporter));
    }
    Collected all;
    for (auto& each : co_await run_all(std::move(tasks))) {
        all.files += each.files;
        all.bytes += each.bytes;
        std::ranges::move(each.errors, std::back_inserter(all.errors));
        std::ranges::for_each(each.notes, note);
        for (auto& text : each.warnings) {
            context.reporter->on({.kind = Event::Kind::warning, .text = std::move(text)});
        }
    }
    reporter.finish();
    if (all.files > 0) {
        note(fmt::format("collected {} ({}) into {}", counted(all.files, "file"),
                         format_size(Bytes{all.bytes}), printable(folder.string())));
    }
    context.fail(all.errors);
    co_return all.errors.empty();
}

} // namespace dockdist
