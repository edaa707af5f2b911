#include "client/spec/sections.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

constexpr std::array<std::string_view, 3> ipc_words{"host", "private", "shareable"};
constexpr std::array<std::string_view, 2> entrypoint_words{
    "dockdist", "image"}; // in the order of ContainerSpec::Entrypoint

// capabilities(7), without the CAP_ that Docker takes or leaves.
constexpr std::array<std::string_view, 42> capabilities{
    "ALL",
    "AUDIT_CONTROL",
    "AUDIT_READ",
    "AUDIT_WRITE",
    "BLOCK_SUSPEND",
    "BPF",
    "CHECKPOINT_RESTORE",
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "IPC_LOCK",
    "IPC_OWNER",
    "KILL",
    "LEASE",
    "LINUX_IMMUTABLE",
    "MAC_ADMIN",
    "MAC_OVERRIDE",
    "MKNOD",
    "NET_ADMIN",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_RAW",
    "PERFMON",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYSLOG",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_CHROOT",
    "SYS_MODULE",
    "SYS_NICE",
    "SYS_PACCT",
    "SYS_PTRACE",
    "SYS_RAWIO",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "WAKE_ALARM",
};

std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    return text;
}

void read_devices(Reader& reader, const Value& value, ContainerSpec& container) {
    static constexpr std::string_view forms = "`auto`, `none` or a list of device paths";
    if (value.node->kind != YamlNode::Kind::list) {
        const auto word = reader.text(value, forms);
        if (word && *word != "auto" && *word != "none") {
            reader.error(
                value,
                fmt::format("expected {}, found {}", forms, word->empty() ? "empty text" : in_quotes(*word)),
                word->starts_with('/') ? fmt::format("write a list: `devices: [{}]`", printable(*word)) : "");
        }
        container.devices_auto = !word || *word == "auto";
        return;
    }
    container.devices_auto = false;
    for (const auto& item : reader.list(value, forms)) {
        const auto path = reader.line(item, "a device's path");
        if (!path) {
            continue;
        }
        const bool plain = path->starts_with("/dev/") && path->size() > 5 &&
                           path->find(':') == std::string::npos && path->find("/..") == std::string::npos;
        if (!plain) {
            reader.error(item, in_quotes(*path) + " is not a path below /dev",
                         "the device has the same path inside, with all rights: write `/dev/infiniband`");
        } else {
            container.devices.push_back(*path);
        }
    }
}

} // namespace

std::optional<std::string> read_account(Reader& reader, const Value& value) {
    auto user = reader.line(value, "a user");
    if (!user) {
        return std::nullopt;
    }
    const auto parts = split(*user, ':');
    const auto is_part = [](const std::string& part) {
        return !part.empty() && part.front() != '-' && part.find_first_of(" /,=") == std::string::npos;
    };
    if (parts.size() > 2 || !std::ranges::all_of(parts, is_part)) {
        reader.error(value, in_quotes(*user) + " is not a user", "write NAME, UID, NAME:GROUP or UID:GID");
        return std::nullopt;
    }
    return *user == "root" ? "" : std::move(*user);
}

namespace {

void read_user(Reader& reader, const Value& value, ContainerSpec& container) {
    if (auto user = read_account(reader, value)) {
        container.user = std::move(*user);
    }
}

void read_workdir(Reader& reader, const Value& value, ContainerSpec& container) {
    const auto path = reader.line(value, "a path in the container");
    if (!path) {
        return;
    }
    if (!path->starts_with('/')) {
        reader.error(value, in_quotes(*path) + " is not an absolute path",
                     fmt::format("write `/{}`", printable(*path)));
        return;
    }
    container.workdir = *path;
}

void read_pids_limit(Reader& reader, const Value& value, ContainerSpec& container) {
    if (value.node->kind == YamlNode::Kind::scalar &&
        (value.node->text == "unlimited" || value.node->text == "-1")) {
        container.pids_limit = -1;
    } else if (const auto limit = reader.integer(value, 1, 4'194'304)) { // the kernel's own PID_MAX_LIMIT
        container.pids_limit = *limit;
    }
}

void read_cap_add(Reader& reader, const Value& value, ContainerSpec& container) {
    for (const auto& item : reader.list(value, "a list of capabilities", "write `cap_add: [SYS_PTRACE]`")) {
        const auto text = reader.line(item, "a capability");
        if (!text) {
            continue;
        }
        auto name = upper(*text);
        if (name.starts_with("CAP_")) {
            name = name.substr(4);
        }
        if (std::ranges::find(capabilities, name) == capabilities.end()) {
            const auto meant = nearest(name, capabilities);
            reader.error(item, in_quotes(*text) + " is not a capability",
                         meant.empty() ? "man 7 capabilities lists them"
                                       : fmt::format("did you mean `{}`?", meant));
        } else if (std::ranges::find(container.cap_add, name) == container.cap_add.end()) {
            container.cap_add.push_back(std::move(name));
        }
    }
}

void read_runtime(Reader& reader, const Value& value, ContainerSpec& container) {
    const auto name = reader.line(value, "a runtime's name");
    if (name && name->find(' ') != std::string::npos) {
        reader.error(value, in_quotes(*name) + " is not a runtime's name",
                     "`docker info` lists an engine's runtimes");
    } else if (name) {
        container.runtime = *name;
    }
}

constexpr std::array container_table{
    Key<ContainerSpec>{"shm_size",
                       [](Reader& reader, const Value& value, ContainerSpec& container) {
                           const auto size = reader.size(value);
                           if (size && size->count == 0) {
                               reader.error(value, "shared memory of size zero", "leave the key out for 64g");
                           } else if (size) {
                               container.shm_size = *size;
                           }
                       }},
    Key<ContainerSpec>{"ipc",
                       [](Reader& reader, const Value& value, ContainerSpec& container) {
                           if (const auto index = reader.word(value, ipc_words)) {
                               container.ipc = ipc_words.at(*index);
                           }
                       },
                       ipc_words},
    Key<ContainerSpec>{"ulimits", read_ulimits},
    Key<ContainerSpec>{"mounts", read_mounts},
    Key<ContainerSpec>{"env", [](Reader& reader, const Value& value,
                                 ContainerSpec& container) { read_env(reader, value, container.env); }},
    Key<ContainerSpec>{"secrets",
                       [](Reader& reader, const Value& value, ContainerSpec& container) {
                           read_secrets(reader, value, reader.resolve_secrets(), container.secrets);
                       }},
    Key<ContainerSpec>{"devices", read_devices},
    Key<ContainerSpec>{"user", read_user},
    Key<ContainerSpec>{"workdir", read_workdir},
    Key<ContainerSpec>{"privileged",
                       [](Reader& reader, const Value& value, ContainerSpec& container) {
                           container.privileged = reader.boolean(value).value_or(false);
                       }},
    Key<ContainerSpec>{"pids_limit", read_pids_limit},
    Key<ContainerSpec>{"cap_add", read_cap_add},
    Key<ContainerSpec>{"no_new_privileges",
                       [](Reader& reader, const Value& value, ContainerSpec& container) {
                           container.no_new_privileges = reader.boolean(value);
                       }},
    Key<ContainerSpec>{"runtime", read_runtime},
    Key<ContainerSpec>{"entrypoint",
                       [](Reader& reader, const Value& value, ContainerSpec& container) {
                           if (const auto index = reader.word(value, entrypoint_words)) {
                               container.entrypoint = static_cast<ContainerSpec::Entrypoint>(*index);
                           }
                       },
                       entrypoint_words},
};

} // namespace

std::span<const Key<ContainerSpec>> container_keys() {
    return container_table;
}

void read_container(Reader& reader, const Value& value, ContainerSpec& container) {
    if (!reader.is_map(value)) {
        return;
    }
    read_keys(reader, value, container_keys(), container);
    for (const auto& secret : container.secrets) {
        if (container.env.contains(secret.name)) {
            reader.error(value, fmt::format("{} is both in `env` and in `secrets`", in_quotes(secret.name)),
                         "keep the one in `secrets`: an `env` value is shown by `docker inspect`");
        }
    }
}

} // namespace dockdist
