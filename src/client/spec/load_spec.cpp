#include "client/spec/load_spec.hpp"

#include "client/spec/names.hpp"
#include "client/spec/sections.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <system_error>

namespace dockdist {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "cluster.yaml";
constexpr const char* hosts_option = "--hosts"; // the place of what is in no line of the file

constexpr std::size_t max_told = 100;

Errors located(std::vector<YamlMistake> mistakes, const fs::path& file) {
    Errors errors;
    for (auto& mistake : mistakes) {
        if (errors.size() == max_told) {
            errors.push_back({ErrorKind::config, printable(file.string()) + ":1:1",
                              fmt::format("{} more mistakes follow", mistakes.size() - max_told),
                              "fix the first ones"});
            break;
        }
        auto where = mistake.place.line == 0 ? std::string(hosts_option)
                                             : fmt::format("{}:{}:{}", printable(file.string()),
                                                           mistake.place.line, mistake.place.column);
        errors.push_back(
            {ErrorKind::config, std::move(where), std::move(mistake.message), std::move(mistake.hint)});
    }
    return errors;
}

// Keys that begin with `x-` are nobody's: a place for anchors, as in Compose.
YamlNode without_extensions(const YamlNode& root) {
    auto rest = root;
    std::erase_if(rest.entries, [](const YamlEntry& entry) { return entry.key.starts_with("x-"); });
    return rest;
}

// What `--hosts` says, with no line of the file for its place.
class OtherHosts {
public:
    explicit OtherHosts(const std::string& text) : document_(parse_yaml(text)) {
        for (auto& node : document_.nodes) {
            node.place.line = 0;
            for (auto& entry : node.entries) {
                entry.place.line = 0;
            }
        }
        for (auto& mistake : document_.mistakes) {
            mistake.place.line = 0;
        }
        list_ = {.kind = YamlNode::Kind::list, .place = {.line = 0}, .items = {document_.root}};
    }
    const std::vector<YamlMistake>& mistakes() const { return document_.mistakes; }

    void replace(YamlNode& keys) const {
        const auto* root = document_.root;
        if (root == nullptr) {
            return;
        }
        const bool whole = root->kind == YamlNode::Kind::list ||
                           (root->kind == YamlNode::Kind::scalar && root->text == "slurm");
        std::erase_if(keys.entries, [](const YamlEntry& entry) { return entry.key == "hosts"; });
        keys.entries.push_back({.key = "hosts", .place = {.line = 0}, .value = whole ? root : &list_});
    }

private:
    YamlDocument document_;
    YamlNode list_{};
};

} // namespace

LoadedSpec load_spec(const std::string& text, const fs::path& file, const Environment& environment,
                     const LoadOptions& options) {
    std::error_code failed;
    auto folder = fs::absolute(file, failed).lexically_normal().parent_path();
    if (failed) {
        folder = file.parent_path();
    }
    const auto document = parse_yaml(text);
    Reader reader(environment, folder, options);
    for (const auto& mistake : document.mistakes) {
        reader.add(mistake);
    }
    std::optional<OtherHosts> other;
    if (!options.hosts.empty()) {
        other.emplace(options.hosts);
        for (const auto& mistake : other->mistakes()) {
            reader.add(mistake);
        }
    }
    ClusterDraft draft;
    if (document.root != nullptr && document.root->kind != YamlNode::Kind::map) {
        reader.expected({document.root, "", document.root->place}, "a map of keys",
                        "begin with `image:` and `hosts:`; `dockdist init` writes a file to start from");
    } else if (document.root != nullptr) {
        auto keys = without_extensions(*document.root);
        if (other) {
            other->replace(keys);
        }
        const Value root{&keys, "", keys.place};
        read_keys(reader, root, cluster_keys(), draft);
        check_cluster(reader, root, draft);
    }
    for (auto& host : draft.hosts) {
        draft.spec.hosts.push_back(std::move(host.spec));
    }
    if (draft.spec.image.build && draft.spec.image.from.empty() && !draft.spec.hosts.empty()) {
        draft.spec.image.from = draft.spec.hosts.front().name.str();
    }
    if (draft.spec.name.empty()) {
        const auto own = folder.filename().string();
        draft.spec.name = ClusterName(to_cluster_name(own));
        if (!names_a_cluster(own) && document.root != nullptr && document.root->kind == YamlNode::Kind::map &&
            document.root->find("name") == nullptr) {
            reader.error(
                {document.root, "", document.root->place},
                fmt::format("`name` is missing, and the folder's name, {}, cannot be turned into one",
                            in_quotes(own)),
                fmt::format(
                    "write `name: …` with a-z, 0-9 and `-`; a cluster that is up from here is `name: {}`",
                    draft.spec.name.str()));
        }
    }
    if (!draft.spec.slurm_job.empty()) { // other allocations of the same file may be on the same hosts
        draft.spec.name = ClusterName(of_allocation(draft.spec.name.str(), draft.spec.slurm_job));
    }
    draft.spec.file = file;
    if (draft.spec.image.build) {
        draft.spec.image.build->missing = located(reader.take_put_off(), file);
    }
    return {std::move(draft.spec), located(reader.take_errors(), file), located(reader.take_warnings(), file),
            std::move(draft.sources)};
}

Result<fs::path> find_spec_file(const fs::path& start) {
    std::error_code failed;
    auto folder = fs::absolute(start, failed).lexically_normal();
    if (failed) {
        return Error{ErrorKind::config, printable(start.string()), failed.message(), ""};
    }
    while (true) {
        auto candidate = folder / file_name;
        if (fs::exists(candidate, failed)) {
            return candidate;
        }
        const auto parent = folder.parent_path();
        if (parent == folder) {
            break;
        }
        folder = parent;
    }
    return Error{ErrorKind::config, printable(start.string()),
                 fmt::format("no {} here or in a parent folder", file_name),
                 "create one with `dockdist init`, or name one with `--file`"};
}

Result<SpecText> read_spec(const fs::path& file) {
    auto read = read_file(file, max_yaml_bytes + 4); // enough to see that it is too large
    if (!read) {
        const auto& why = read.error();
        return Error{ErrorKind::config, printable(file.string()),
                     why.kind == ErrorKind::not_found ? "there is no such file"
                                                      : "the file cannot be read: " + why.message,
                     "check the path, or create one with `dockdist init`"};
    }
    return SpecText{std::move(*read), file};
}

LoadedSpec load_spec_file(const fs::path& file, const Environment& environment, const LoadOptions& options) {
    const auto read = read_spec(file);
    return read ? load_spec(read->text, file, environment, options) : LoadedSpec{.errors = {read.error()}};
}

} // namespace dockdist
