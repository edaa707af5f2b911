// cp: files and folders between this machine and one node.
#include "client/cli/files/late_reporter.hpp"
#include "client/cli/files/sync_and_collect.hpp"
#include "client/cli/line/values.hpp"
#include "client/sync/fetch.hpp"
#include "client/sync/sync_text.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace dockdist {
namespace {

struct Place {
    std::string node{}; // empty: here
    std::string path{};
    std::string text() const { return node.empty() ? path : node + ":" + path; }
};

// NODE:PATH, as scp reads it: a colon before the first slash.
Place parse_place(const std::string& text) {
    const auto colon = text.find(':');
    if (colon == std::string::npos || colon == 0 || text.find('/') < colon) {
        return {.path = text};
    }
    return {.node = text.substr(0, colon), .path = text.substr(colon + 1)};
}

// "out/." means what is in it.
bool means_content(const std::string& path) {
    return path == "." || path.ends_with("/.");
}

std::string without_slashes(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    return path;
}

std::string last_component(const std::string& path) {
    const auto last = std::filesystem::path(without_slashes(path)).filename().string();
    return last == "." || last == ".." || last == "/" ? "" : last;
}

// Into a folder that is there, or under the name that was given.
FetchPlace place_of(const std::string& from, const std::string& to) {
    std::error_code error;
    if (std::filesystem::is_directory(to, error)) {
        return {.root = to, .name = means_content(from) ? "" : last_component(from)};
    }
    const auto name = last_component(to);
    const auto parent = std::filesystem::path(without_slashes(to)).parent_path();
    return name.empty() ? FetchPlace{.root = to}
                        : FetchPlace{.root = parent.empty() ? "." : parent.string(), .name = name};
}

void tell(const Context& context, const Place& from, const Place& to, std::uint64_t files,
          std::uint64_t bytes, const std::vector<std::string>& left_out) {
    for (const auto& text : left_out) {
        context.reporter->on({.kind = Event::Kind::warning, .text = text});
    }
    if (context.json()) {
        context.print_json({{"type", "result"},
                            {"from", from.text()},
                            {"to", to.text()},
                            {"files", files},
                            {"bytes", bytes}});
    } else {
        context.tell(fmt::format("{} → {}: {} ({})\n", printable(from.text()), printable(to.text()),
                                 counted(files, "file"), format_size(Bytes{bytes})));
    }
}

Task<int> download(Context& context, Synchroniser& synchroniser, const Place& from, Place to,
                   LateReporter& reporter) {
    const auto place = place_of(from.path, to.path);
    to.path = without_slashes((std::filesystem::path(place.root) / place.name).string());
    const auto stream = co_await synchroniser.stream(0);
    if (!stream) {
        co_return context.fail(stream.error());
    }
    const auto fetched = co_await fetch(**stream, from.path, place, reporter);
    reporter.finish();
    if (!fetched) {
        co_return context.fail(fetched.error());
    }
    if (fetched->not_found) {
        co_return context.fail({ErrorKind::not_found, from.node, "there is no " + printable(from.path),
                                "`dockdist exec " + from.node + " -- ls` shows what there is"});
    }
    tell(context, from, to, fetched->files, fetched->bytes, fetched->left_out);
    co_return fetched->errors.empty() ? 0 : context.fail(fetched->errors);
}

Task<int> upload(Context& context, Synchroniser& synchroniser, const Place& from, Place to,
                 LateReporter& reporter) {
    const auto there = co_await synchroniser.look(to.path.empty() ? "." : to.path);
    if (!there) {
        co_return context.fail(there.error());
    }
    const bool slash = to.path.ends_with('/');
    std::error_code error;
    const bool folder = std::filesystem::is_directory(from.path, error);
    auto target = without_slashes(there->target);
    const bool into = there->type == wire::TreeEntry::Type::folder || (slash && !folder);
    if (folder && there->type == wire::TreeEntry::Type::file) {
        co_return context.fail({ErrorKind::node, to.node,
                                printable(to.path) + " is a file, and " + printable(from.path) + " a folder",
                                "name another place"});
    }
    if (into && !means_content(from.path)) {
        const auto real = std::filesystem::canonical(from.path, error);
        const auto name = last_component(from.path);
        target += "/" + (name.empty() ? real.filename().string() : name);
    }
    const auto tree = scan(
        from.path, {.ignore_files = false, .file_name = std::filesystem::path(target).filename().string()});
    if (!tree) {
        auto failed = tree.error();
        failed.hint = failed.kind == ErrorKind::usage ? "" : failed.hint;
        co_return context.fail(failed);
    }
    const auto synced = co_await synchroniser.sync(*tree, target, {.everything = true});
    reporter.finish();
    const auto& plan = synced.nodes.front().plan;
    warn_of_unsettled(context, synced);
    if (const auto errors = synced.errors(); !errors.empty()) {
        co_return context.fail(errors);
    }
    to.path = target;
    tell(context, from, to, plan.files, plan.bytes, tree->left_out);
    co_return 0;
}

Task<int> run_cp(Context& context, std::string from_text, std::string to_text) {
    const auto from = parse_place(from_text);
    const auto to = parse_place(to_text);
    if (from.node.empty() == to.node.empty()) {
        co_return context.fail({ErrorKind::usage, "cp",
                                from.node.empty() ? "neither side names a node" : "both sides name a node",
                                "write NODE:PATH on one side and a path of this machine on the other"});
    }
    const NodeWords words{.text = from.node.empty() ? to.node : from.node};
    auto cluster = co_await attach_to_cluster(context, {.named = {words}});
    const auto node = one_node(cluster, words);
    if (!node) {
        co_return context.fail(why_no_node(cluster, node.error()));
    }
    LateReporter reporter(*context.reporter);
    Synchroniser synchroniser(cluster.engines, {*node},
                              {.opening = sync_opening_of(cluster.spec), .share = false}, reporter);
    if (from.node.empty()) {
        co_return co_await upload(context, synchroniser, from, to, reporter);
    }
    co_return co_await download(context, synchroniser, from, to, reporter);
}

} // namespace

void add_cp(CLI::App& app, Program& program) {
    auto paths = std::make_shared<std::pair<std::string, std::string>>();
    auto* command = describe(app.add_subcommand("cp", "Copy files and folders out of a node, or into it"),
                             command_group::nodes,
                             {"dockdist cp node-0:/workspace/out .", "dockdist cp model.bin node-1:/data/"});
    command->add_option("FROM", paths->first, "NODE:PATH, or a path here; `FOLDER/.` means what is in it")
        ->required();
    command
        ->add_option("TO", paths->second,
                     "NODE:PATH, or a path here; if it is a folder, the copy goes into it")
        ->required();
    command->callback([paths, &program] {
        program.work = [paths](Context& context) { return run_cp(context, paths->first, paths->second); };
    });
}

} // namespace dockdist
