#include "client/cli/files/sync_and_collect.hpp"

#include "client/cli/files/late_reporter.hpp"
#include "client/sync/missing_file.hpp"
#include "client/sync/sync_text.hpp"
#include "shared/core/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

namespace dockdist {
namespace {

constexpr std::size_t most_names = 5;

std::string as_pattern(const std::filesystem::path& path) {
    std::string pattern = "/";
    for (const char c : path.string()) {
        if (std::string_view("*?[\\").find(c) != std::string_view::npos) {
            pattern += '\\';
        }
        pattern += c;
    }
    return pattern + "/";
}

ScanOptions scan_options(const ClusterSpec& spec, const SyncSpec& sync) {
    ScanOptions options{.exclude = sync.exclude,
                        .file_name = std::filesystem::path(sync.target).filename().string()};
    if (!spec.collect.empty()) { // results do not travel back to the nodes
        std::error_code ignored;
        const auto collected = std::filesystem::weakly_canonical(
            std::filesystem::absolute(spec.file).parent_path() / "collected", ignored);
        const auto source = std::filesystem::weakly_canonical(sync.source, ignored);
        const auto relative = collected.lexically_relative(source);
        if (!relative.empty() && *relative.begin() != "..") {
            options.always.push_back(as_pattern(relative));
        }
    }
    return options;
}

std::string shown_source(const ClusterSpec& spec, const std::string& source) {
    const auto folder = std::filesystem::absolute(spec.file).parent_path().lexically_normal();
    const auto whole = std::filesystem::absolute(source).lexically_normal();
    const auto relative = whole.lexically_relative(folder);
    auto text = relative.empty() || *relative.begin() == ".." ? whole.string() : relative.string();
    while (text.size() > 1 && text.ends_with('/')) {
        text.pop_back();
    }
    return text;
}

} // namespace

void add_sync_and_collect_options(CLI::App& command, SyncAndCollectOptions& options) {
    command.add_flag("--no-sync", options.no_sync,
                     "Skip `sync` in the file: the nodes have the code already");
    add_no_collect(command, options);
}

void add_no_collect(CLI::App& command, SyncAndCollectOptions& options) {
    command.add_flag("--no-collect", options.no_collect, "Skip `collect` in the file");
}

wire::SyncOpening sync_opening_of(const ClusterSpec& spec) {
    return {.user = spec.container.user, .workdir = spec.container.workdir};
}

Result<std::vector<Source>> read_sources(const Context& context, const ClusterSpec& spec, bool warn) {
    std::vector<Source> sources;
    for (const auto& sync : spec.sync) {
        auto tree = scan(sync.source, scan_options(spec, sync));
        if (!tree) {
            auto error = tree.error();
            error.where = "sync";
            return error;
        }
        const auto shown = shown_source(spec, sync.source);
        const auto count = tree->left_out.size();
        for (std::size_t i = 0; warn && i < std::min(count, most_names); ++i) {
            context.reporter->on({.kind = Event::Kind::warning,
                                  .subject = shown,
                                  .text = tree->left_out[i] + ": left out" +
                                          (i + 1 == most_names && count > most_names
                                               ? fmt::format(", and {} more such", count - most_names)
                                               : "")});
        }
        sources.push_back({.spec = sync, .tree = std::move(*tree), .shown = shown});
    }
    return sources;
}

std::function<std::optional<std::uint64_t>(const std::string& path)> sent_by_sync(const Context& context,
                                                                                  const ClusterSpec& spec) {
    auto sources = std::make_shared<std::optional<std::vector<Source>>>();
    return [&context, &spec, sources](const std::string& path) -> std::optional<std::uint64_t> {
        if (!*sources) {
            auto read = read_sources(context, spec, false);
            *sources =
                read ? std::move(*read) : std::vector<Source>(); // `sync` itself will say what is wrong
            for (auto& source : **sources) {
                source.tree.make_index();
            }
        }
        for (const auto& source : **sources) {
            if (!source.tree.single.empty() && path == source.spec.target) {
                return source.tree.entries.front().size;
            }
            const auto name = name_in_tree(path, source.spec.target, source.spec.target);
            const auto found = source.tree.index.find(name);
            if (!name.empty() && found != source.tree.index.end()) {
                return source.tree.entries[found->second].size;
            }
        }
        return std::nullopt;
    };
}

void warn_of_unsettled(const Context& context, const SyncedTree& synced) {
    for (std::size_t i = 0; i < std::min(synced.unsettled.size(), most_names); ++i) {
        context.reporter->on({.kind = Event::Kind::warning,
                              .subject = printable(synced.unsettled[i]),
                              .text = "changed while it was sent: the nodes keep what they had of it "
                                      "(sync again when it is written)"});
    }
}

void explain_left_out(const ClusterSpec& spec, const std::string& workdir, wire::JobFailure& failure) {
    for (const auto& path : missing_paths(failure.tail + "\n" + failure.cause)) {
        for (const auto& sync : spec.sync) {
            const auto name = name_in_tree(path, workdir.empty() ? sync.target : workdir, sync.target);
            const auto reason =
                name.empty() ? std::nullopt : why_left_out(sync.source, scan_options(spec, sync), name);
            if (reason && reason->group != IgnoreRules::Group::always) {
                failure.cause = fmt::format("{} is not on the nodes: {} leaves it out of `sync`",
                                            printable(name), rule_text(*reason));
                failure.advice = how_to_send(*reason);
                return;
            }
        }
    }
}

Task<Errors> sync_first(Context& context, const ClusterSpec& spec, const Engines& engines,
                        std::vector<ReadyNode> nodes, const SyncAndCollectOptions& options) {
    if (spec.sync.empty() || options.no_sync || nodes.empty()) {
        co_return Errors{};
    }
    const auto sources = read_sources(context, spec, true);
    if (!sources) {
        co_return Errors{sources.error()};
    }
    LateReporter reporter(*context.reporter);
    Synchroniser synchroniser(engines, std::move(nodes), {.opening = sync_opening_of(spec)}, reporter);
    std::string line;
    Errors errors;
    for (const auto& source : *sources) {
        const auto synced =
            co_await synchroniser.sync(source.tree, source.spec.target, {.remove = source.spec.remove});
        warn_of_unsettled(context, synced);
        if (std::ranges::any_of(synced.nodes, [](const auto& node) { return !node.plan.empty(); })) {
            line += (line.empty() ? "synced " : "; ") + summary(source.shown, source.spec.target, synced);
            const auto left_out = left_out_text(source.tree);
            line += left_out.empty() ? "" : " (" + left_out + ")";
        }
        const auto failed = synced.errors();
        errors.insert(errors.end(), failed.begin(), failed.end());
    }
    reporter.finish();
    if (errors.empty() && !line.empty()) {
        context.reporter->on({.kind = Event::Kind::note, .text = line});
    }
    co_return errors;
}

} // namespace dockdist
