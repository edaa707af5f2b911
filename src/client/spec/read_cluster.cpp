#include "client/spec/names.hpp"
#include "client/spec/sections.hpp"
#include "shared/core/text.hpp"
#include "shared/core/toolkits.hpp"
#include "shared/launch/launcher_names.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

constexpr std::array<std::string_view, 3> pull_words{"missing", "always",
                                                     "never"}; // in the order of ImageSpec::Pull

void read_ref(Reader& reader, const Value& value, ImageSpec& image) {
    const auto ref = reader.line(value, "an image reference");
    if (!ref) {
        return;
    }
    if (!is_image_reference(*ref)) {
        const bool upper =
            std::ranges::any_of(ref->substr(0, ref->find(':')), [](char c) { return c >= 'A' && c <= 'Z'; });
        reader.error(value, in_quotes(*ref) + " is not an image reference",
                     upper ? "a repository's name is written in lower case"
                           : "write it as `docker pull` takes it: REPOSITORY[:TAG][@sha256:DIGEST]");
        return;
    }
    image.ref = ImageRef(*ref);
}

void read_pull(Reader& reader, const Value& value, ImageSpec& image) {
    if (const auto index = reader.word(value, pull_words)) {
        image.pull = static_cast<ImageSpec::Pull>(*index);
    }
}

void read_from(Reader& reader, const Value& value, ImageSpec& image) {
    if (const auto from = reader.line(value, "`local` or a host's name")) {
        image.from = *from;
    }
}

void read_platform(Reader& reader, const Value& value, ImageSpec& image) {
    const auto platform = reader.line(value, "a platform");
    if (!platform) {
        return;
    }
    auto parts = split(*platform, '/');
    const auto is_word = [](const std::string& part) {
        return !part.empty() && std::ranges::all_of(part, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        });
    };
    if (parts.size() < 2 || parts.size() > 3 || !std::ranges::all_of(parts, is_word) || parts[0] != "linux") {
        reader.error(value, in_quotes(*platform) + " is not a platform",
                     "write `linux/amd64` or `linux/arm64`");
        return;
    }
    parts[1] = go_architecture(parts[1]);
    image.platform = fmt::format("{}", fmt::join(parts, "/"));
}

void read_name(Reader& reader, const Value& value, ClusterDraft& draft) {
    const auto name = reader.line(value, "a name");
    if (name && check_name(reader, value, *name, "a cluster's name")) {
        draft.spec.name = ClusterName(*name);
    }
}

void read_port(Reader& reader, const Value& value, ClusterDraft& draft) {
    draft.ssh_port = value;
    if (value.node->kind == YamlNode::Kind::scalar && value.node->text == "auto") {
        return;
    }
    const auto port = reader.text(value, "a port or `auto`");
    if (!port || *port == "auto") {
        return;
    }
    if (*port == "22") {
        reader.error(value, "port 22 belongs to the host's own sshd",
                     "write `auto`, or a free port from 1024 up");
        return;
    }
    if (const auto number = reader.integer(value, 1024, 65535)) {
        draft.spec.ssh.port = Port{static_cast<std::uint16_t>(*number)};
    }
}

constexpr std::array ssh_table{Key<ClusterDraft>{"port", read_port}};

void read_launcher(Reader& reader, const Value& value, ClusterDraft& draft) {
    if (const auto index = reader.word(value, launcher_names)) {
        draft.spec.launcher = launcher_names.at(*index);
    }
}

void read_roles(Reader& reader, const Value& value, ClusterDraft& draft) {
    if (!reader.is_map(value, "a map", "write `roles: {ps: 1}`")) {
        return;
    }
    for (const auto& entry : value.node->entries) {
        if (std::ranges::find(role_names, entry.key) == role_names.end()) {
            reader.unknown(value, entry.place, entry.key, role_names);
        } else if (const auto count = reader.integer(value.member(entry), 0, most_of_a_role)) {
            draft.spec.roles[entry.key] = static_cast<int>(*count);
        }
    }
}

void read_spares(Reader& reader, const Value& value, ClusterDraft& draft) {
    draft.spares = value;
    draft.spec.spares = static_cast<int>(reader.integer(value, 0, 65535).value_or(0));
}

void read_min_nodes(Reader& reader, const Value& value, ClusterDraft& draft) {
    draft.min_nodes = value;
    draft.spec.min_nodes = static_cast<int>(reader.integer(value, 1, most_cluster_nodes).value_or(0));
}

constexpr std::array image_table{
    Key<ImageSpec>{"ref", read_ref},           Key<ImageSpec>{"pull", read_pull, pull_words},
    Key<ImageSpec>{"platform", read_platform}, Key<ImageSpec>{"from", read_from},
    Key<ImageSpec>{"build", read_build},
};

constexpr std::array cluster_table{
    Key<ClusterDraft>{"name", read_name},
    Key<ClusterDraft>{"image",
                      [](Reader& reader, const Value& value, ClusterDraft& draft) {
                          draft.image = value;
                          read_image(reader, value, draft.spec.image);
                      }},
    Key<ClusterDraft>{"hosts", read_hosts},
    Key<ClusterDraft>{
        "groups", [](Reader& /*reader*/, const Value& value, ClusterDraft& draft) { draft.groups = value; }},
    Key<ClusterDraft>{"min_nodes", read_min_nodes},
    Key<ClusterDraft>{"container",
                      [](Reader& reader, const Value& value, ClusterDraft& draft) {
                          read_container(reader, value, draft.spec.container);
                      }},
    Key<ClusterDraft>{"ssh",
                      [](Reader& reader, const Value& value, ClusterDraft& draft) {
                          if (reader.is_map(value, "a map", "write `ssh: {port: 2222}`")) {
                              read_keys(reader, value, ssh_keys(), draft);
                          }
                      }},
    Key<ClusterDraft>{"network",
                      [](Reader& reader, const Value& value, ClusterDraft& draft) {
                          read_network(reader, value, draft.spec.network);
                      }},
    Key<ClusterDraft>{"sync", read_sync},
    Key<ClusterDraft>{"setup", read_setup},
    Key<ClusterDraft>{"data", read_data},
    Key<ClusterDraft>{"collect", read_collect},
    Key<ClusterDraft>{"launcher", read_launcher, launcher_names},
    Key<ClusterDraft>{"roles", read_roles},
    Key<ClusterDraft>{"spares", read_spares},
    Key<ClusterDraft>{"idle", read_idle},
    Key<ClusterDraft>{"history", read_history},
    Key<ClusterDraft>{"gpu_in_use_above",
                      [](Reader& reader, const Value& value, ClusterDraft& draft) {
                          if (const auto size = reader.size(value)) {
                              draft.spec.gpu_in_use_above = *size;
                          }
                      }},
};

} // namespace

std::span<const Key<ClusterDraft>> cluster_keys() {
    return cluster_table;
}

Words role_keys() {
    return role_names;
}

std::span<const Key<ImageSpec>> image_keys() {
    return image_table;
}

std::span<const Key<ClusterDraft>> ssh_keys() {
    return ssh_table;
}

void read_image(Reader& reader, const Value& value, ImageSpec& image) {
    if (value.node->kind != YamlNode::Kind::map) {
        read_ref(reader, value, image);
        return;
    }
    read_keys(reader, value, image_keys(), image);
    if (value.node->find("ref") == nullptr) {
        reader.error(value, "`ref` is missing", "write `ref: REPOSITORY:TAG`");
    }
}

bool check_name(Reader& reader, const Value& value, const std::string& name, std::string_view what) {
    if (is_plain_name(name)) {
        return true;
    }
    const auto proposal = to_cluster_name(name);
    reader.error(
        value,
        fmt::format(
            "{} cannot be {}: it has 1 to 63 of a-z, 0-9, `-` and `.`, a letter or digit first and last",
            in_quotes(name), what),
        proposal != name && proposal != "cluster" ? fmt::format("`{}` would do", proposal) : "");
    return false;
}

} // namespace dockdist
