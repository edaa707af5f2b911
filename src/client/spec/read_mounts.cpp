#include "client/spec/host_mounts.hpp"
#include "client/spec/names.hpp"
#include "client/spec/sections.hpp"
#include "shared/core/path.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

namespace dockdist {
namespace {

constexpr std::array<std::string_view, 4> own_places{"/opt/dockdist", "/run/dockdist", "/var/run/dockdist",
                                                     "/var/lib/dockdist"};
constexpr std::string_view mount_forms = "SOURCE:TARGET, SOURCE:TARGET:ro or {source, target, read_only}";

bool check_target(Reader& reader, const Value& value, const std::string& target) {
    if (auto reason = refuse_target(target)) {
        reader.error(value, *reason);
        return false;
    }
    const auto path = normal_path(target);
    const auto* const inner = std::ranges::find_if(
        own_places, [&](std::string_view place) { return place.starts_with(path + "/"); });
    if (inner != own_places.end()) {
        reader.error(
            value,
            fmt::format("the target {} contains dockdist's own path {}, which would be created on the hosts",
                        in_quotes(target), *inner),
            "mount the folders below it that jobs need");
        return false;
    }
    if (path == "/etc") {
        reader.warning(
            value,
            "the nodes have no `/etc` of their own then: dockdist changes nothing in it, and `up` fails "
            "where its accounts do not let peers in by ssh",
            "mount the files that jobs need");
    }
    return true;
}

constexpr std::array<std::string_view, 2> selinux_labels{"z", "Z"};
constexpr std::array<std::string_view, 6> propagations{"private", "rprivate", "shared",
                                                       "rshared", "slave",    "rslave"};
// Of Docker Desktop's file sharing; an engine on Linux does nothing for them.
constexpr std::array<std::string_view, 3> consistencies{"cached", "consistent", "delegated"};
// Of `podman run -v` alone: its Docker-compatible API, and Docker, have none of them.
constexpr std::array<std::string_view, 12> of_podman_alone{
    "U", "O", "idmap", "exec", "noexec", "dev", "nodev", "suid", "nosuid", "bind", "rbind", "copy"};

bool is_among(std::span<const std::string_view> words, const std::string& word) {
    return std::ranges::find(words, word) != words.end();
}

// One of each kind, as `docker run` takes them.
bool check_options(Reader& reader, const Value& value, const std::vector<std::string>& options) {
    std::map<int, std::string> kinds;
    return std::ranges::all_of(options, [&](const std::string& option) {
        const int kind = option == "ro" || option == "rw"   ? 1
                         : is_among(selinux_labels, option) ? 2
                         : is_among(propagations, option)   ? 3
                                                            : 0;
        const auto& first = kind == 0 ? option : kinds.try_emplace(kind, option).first->second;
        if (first != option) {
            reader.error(value,
                         fmt::format("{} and {} exclude each other", in_quotes(first), in_quotes(option)),
                         "keep one of them");
        }
        return first == option;
    });
}

// Engines take a label in the line SOURCE:TARGET:OPTIONS alone.
bool has_colon(const MountSpec& mount) {
    return mount.source.find(':') != std::string::npos || mount.target.find(':') != std::string::npos;
}

// What stands behind the second colon, as people have it in their lines of `docker run`.
bool read_option(Reader& reader, const Value& value, const std::string& option, MountSpec& mount) {
    const bool is_path = mount.source.starts_with('/');
    if (option == "ro" || option == "rw") {
        mount.read_only = option == "ro";
    } else if (is_among(selinux_labels, option)) {
        mount.selinux = is_path ? option : ""; // a volume has the right label anyway
    } else if (is_among(propagations, option) && is_path) {
        mount.propagation = option;
    } else if (option == "nocopy" && !is_path) {
        mount.no_copy = true;
    } else if (is_among(propagations, option) || option == "nocopy") {
        reader.error(value,
                     fmt::format("{} is an option of {}", in_quotes(option),
                                 is_path ? "volumes, and this is a path of the hosts"
                                         : "paths of the hosts, and this is a volume"),
                     "leave it out");
        return false;
    } else if (is_among(of_podman_alone, option)) {
        reader.error(
            value,
            fmt::format(
                "{} is an option of Podman's command line, which engines do not accept through their API",
                in_quotes(option)),
            "leave it out");
        return false;
    } else if (!is_among(consistencies, option)) {
        reader.error(
            value, fmt::format("{} is not a mount's option", in_quotes(option)),
            "`ro`, `rw`; of a path also `z` or `Z` (SELinux), `rslave` and its like; of a volume `nocopy`");
        return false;
    }
    return true;
}

constexpr std::array mount_table{
    Key<MountSpec>{"source",
                   [](Reader& reader, const Value& value, MountSpec& mount) {
                       const auto source = reader.line(value, "a path on the hosts or a volume's name");
                       if (source && check_host_source(reader, value, *source)) {
                           mount.source = *source;
                       }
                   }},
    Key<MountSpec>{"target",
                   [](Reader& reader, const Value& value, MountSpec& mount) {
                       const auto target = reader.line(value, "a path in the container");
                       if (target && check_target(reader, value, *target)) {
                           mount.target = *target;
                       }
                   }},
    Key<MountSpec>{"read_only",
                   [](Reader& reader, const Value& value, MountSpec& mount) {
                       mount.read_only = reader.boolean(value).value_or(false);
                   }},
    Key<MountSpec>{"selinux",
                   [](Reader& reader, const Value& value, MountSpec& mount) {
                       if (const auto index = reader.word(value, selinux_labels)) {
                           mount.selinux = selinux_labels.at(*index);
                       }
                   },
                   selinux_labels},
    Key<MountSpec>{"propagation",
                   [](Reader& reader, const Value& value, MountSpec& mount) {
                       if (const auto index = reader.word(value, propagations)) {
                           mount.propagation = propagations.at(*index);
                       }
                   },
                   propagations},
    Key<MountSpec>{"no_copy",
                   [](Reader& reader, const Value& value, MountSpec& mount) {
                       mount.no_copy = reader.boolean(value).value_or(false);
                   }},
};

std::optional<MountSpec> read_short(Reader& reader, const Value& value) {
    const auto text = reader.line(value, "a mount");
    if (!text) {
        return std::nullopt;
    }
    const auto parts = split(*text, ':');
    if (parts.size() < 2 || parts.size() > 3 || std::ranges::any_of(parts, &std::string::empty)) {
        reader.error(value, fmt::format("expected {}, found {}", mount_forms, in_quotes(*text)),
                     parts.size() == 1 && text->starts_with('/')
                         ? fmt::format("write `{0}:{0}`", printable(*text))
                         : "");
        return std::nullopt;
    }
    MountSpec mount{.source = parts[0], .target = parts[1]};
    const auto options = parts.size() == 3 ? split(parts[2], ',') : std::vector<std::string>();
    if (!check_options(reader, value, options) ||
        !std::ranges::all_of(
            options, [&](const std::string& option) { return read_option(reader, value, option, mount); })) {
        return std::nullopt;
    }
    const bool source = check_host_source(reader, value, mount.source);
    const bool target = check_target(reader, value, mount.target);
    return source && target ? std::optional(std::move(mount)) : std::nullopt;
}

std::optional<MountSpec> read_long(Reader& reader, const Value& value) {
    MountSpec mount;
    read_keys(reader, value, mount_keys(), mount);
    for (const std::string_view key : {"source", "target"}) {
        if (value.node->find(key) == nullptr) {
            reader.error(value, fmt::format("`{}` is missing", key), "write {source: …, target: …}");
        }
    }
    const bool is_path = mount.source.starts_with('/');
    if (!mount.source.empty() && (is_path ? mount.no_copy : !(mount.selinux + mount.propagation).empty())) {
        reader.error(value,
                     is_path ? "`no_copy` is an option of volumes, and this is a path of the hosts"
                             : "`selinux` and `propagation` are options of paths of the hosts, and this is "
                               "a volume",
                     "leave it out");
    }
    if (is_path && !mount.selinux.empty() && has_colon(mount)) {
        reader.error(value, "engines give no label to a mount with a colon in its path",
                     "leave `selinux` out, and give the folder its label on the hosts: chcon -Rt "
                     "container_file_t PATH");
    }
    return mount.source.empty() || mount.target.empty() ? std::nullopt : std::optional(mount);
}

} // namespace

bool check_host_source(Reader& reader, const Value& value, const std::string& source) {
    if (source.starts_with('/')) {
        return true;
    }
    if (source.starts_with('~')) {
        reader.error(value,
                     fmt::format("{} is a path on the hosts, where `~` has no meaning", in_quotes(source)),
                     "write the whole path");
    } else if (source.find('/') != std::string::npos || source == "." || source == "..") {
        reader.error(value,
                     fmt::format("{} is a path on the hosts, which has to be absolute", in_quotes(source)),
                     "write the whole path; files of this machine go there with `sync`");
    } else if (!is_volume_name(source)) {
        reader.error(value, in_quotes(source) + " is neither an absolute path nor a volume's name");
    } else {
        return true;
    }
    return false;
}

std::span<const Key<MountSpec>> mount_keys() {
    return mount_table;
}

std::optional<std::string> refuse_target(const std::string& target) {
    if (!target.starts_with('/')) {
        return fmt::format("the target {} is not an absolute path in the container", in_quotes(target));
    }
    const auto path = normal_path(target);
    if (path == "/") {
        return "the target cannot be `/`, which is the image itself";
    }
    for (const auto folder : own_places) {
        const auto after = path.substr(std::min(folder.size(), path.size()));
        if (path.starts_with(folder) && (after.empty() || after.front() == '/' || after.front() == '.')) {
            return fmt::format("the target {} is reserved for dockdist", in_quotes(target));
        }
    }
    return std::nullopt;
}

std::optional<std::string> read_target(Reader& reader, const Value& value) {
    auto target = reader.line(value, "an absolute path in the containers");
    if (const auto reason = target ? refuse_target(*target) : std::nullopt) {
        reader.error(value, *reason);
        return std::nullopt;
    }
    return target;
}

void read_mounts(Reader& reader, const Value& value, ContainerSpec& container) {
    std::set<std::string> targets;
    for (const auto& item : reader.list(value, "a list", "write `mounts: [\"/data:/data\"]`")) {
        const bool is_long = item.node->kind == YamlNode::Kind::map;
        const auto mount = is_long ? read_long(reader, item) : read_short(reader, item);
        if (!mount) {
            continue;
        }
        if (!targets.insert(normal_path(mount->target)).second) {
            reader.error(item, fmt::format("the target {} is given twice", in_quotes(mount->target)),
                         "keep one of them");
        } else {
            container.mounts.push_back(*mount);
        }
        if (const auto remark = mount->source.starts_with('/')
                                    ? judge_host_mount(mount->source, mount->read_only)
                                    : std::nullopt) {
            reader.warning(item, fmt::format("{} {}", in_quotes(mount->source), remark->given),
                           std::string(remark->hint));
        }
    }
}

} // namespace dockdist
