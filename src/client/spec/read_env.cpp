// env and secrets: variables of the container, the ones for everybody to see and the ones for nobody.
#include "client/spec/names.hpp"
#include "client/spec/sections.hpp"
#include "shared/core/byte_order_mark.hpp"
#include "shared/core/regular_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

constexpr std::array<std::string_view, 1> secret_table{"file"};
constexpr std::size_t max_secret_bytes = 64U << 10U;
constexpr std::size_t max_build_secret_bytes = std::size_t{500} * 1024; // BuildKit's own

bool looks_secret(std::string_view name) {
    static constexpr std::array<std::string_view, 7> ends{"TOKEN",   "PASSWORD",   "PASSWD",    "SECRET",
                                                          "API_KEY", "SECRET_KEY", "ACCESS_KEY"};
    return std::ranges::any_of(ends, [&](std::string_view end) {
        return name.ends_with(end) &&
               (name.size() == end.size() || name[name.size() - end.size() - 1] == '_');
    });
}

void set_variable(Reader& reader, const Value& at, const std::string& name, std::optional<std::string> value,
                  Variables of, std::map<std::string, std::string>& env) {
    if (!value) {
        value = reader.variable(name);
        if (!value) {
            reader.warning(
                at,
                fmt::format(
                    "it takes its value from your environment, where it is not set: {} will not have it",
                    of == Variables::of_build ? "the build" : "the nodes"),
                fmt::format("set it, give it a value here, or write `${{{}-}}` for an empty one", name));
            return;
        }
    }
    if (looks_secret(name) && !value->empty()) {
        of == Variables::of_build
            ? reader.warning(
                  at, "it looks like a secret, and a build's arguments are kept in the image's history",
                  "move it to `image.build.secrets`")
            : reader.warning(at,
                             "it looks like a secret, and an `env` value can be read with `docker inspect`",
                             "move it to `container.secrets`");
    }
    env[name] = *value;
}

bool check_variable(Reader& reader, const Value& at, Place place, const std::string& name) {
    if (is_variable_name(name)) {
        return true;
    }
    auto where = at;
    where.place = place;
    reader.error(where, (name.empty() ? "an empty name" : in_quotes(name)) + " is not a variable's name",
                 "letters, digits and `_`, no digit first");
    return false;
}

void read_env_list(Reader& reader, const Value& value, Variables of,
                   std::map<std::string, std::string>& env) {
    std::map<std::string, std::size_t> seen;
    for (const auto& item : reader.list(value, "a map or a list")) {
        const auto text = reader.text(item, "NAME=VALUE");
        if (!text) {
            continue;
        }
        const auto equals = text->find('=');
        const auto name = text->substr(0, equals);
        if (!check_variable(reader, item, item.place, name)) {
            continue;
        }
        if (!seen.try_emplace(name, seen.size()).second) {
            reader.error(item, fmt::format("the variable {} is given twice", in_quotes(name)),
                         "keep one of them");
            continue;
        }
        set_variable(reader, item, name,
                     equals == std::string::npos ? std::nullopt : std::optional(text->substr(equals + 1)), of,
                     env);
    }
}

// A variable is text without the line's end and an editor's mark; what a build's step mounts is the file,
// byte for byte.
std::optional<std::string> read_secret_file(Reader& reader, const Value& value, bool resolve, Variables of) {
    auto visible = value; // the path is no secret
    visible.secret = false;
    const auto written = reader.line(visible, "a file's path");
    const auto path = written ? reader.client_path(visible, *written) : std::nullopt;
    if (!path || !resolve) {
        return std::nullopt;
    }
    const auto most = of == Variables::of_build ? max_build_secret_bytes : max_secret_bytes;
    auto file = read_file(*path, most + 1);
    if (!file) {
        reader.error(visible,
                     fmt::format("the file {} cannot be read: {}", in_quotes(*path), file.error().message),
                     "check its path and permissions");
        return std::nullopt;
    }
    auto content = std::move(file->text);
    if (content.size() > most) {
        reader.error(visible, fmt::format("{} is larger than the {} bytes that a secret may have",
                                          in_quotes(*path), most));
        return std::nullopt;
    }
    if (of == Variables::of_build) {
        return content;
    }
    if (content.find('\0') != std::string::npos) {
        reader.error(visible,
                     fmt::format("the file {} holds a NUL byte, which no variable can", in_quotes(*path)),
                     "is it a text file?");
        return std::nullopt;
    }
    if (content.ends_with('\n')) {
        content.resize(content.size() - (content.ends_with("\r\n") ? 2 : 1));
    }
    return std::string(without_byte_order_mark(content));
}

std::optional<std::string> read_secret(Reader& reader, const Value& value, const std::string& name,
                                       bool resolve, Variables of) {
    if (value.node->kind == YamlNode::Kind::map) {
        std::optional<std::string> content;
        for (const auto& entry : value.node->entries) {
            if (entry.key == "file") {
                content = read_secret_file(reader, value.member(entry), resolve, of);
            } else {
                reader.unknown(value, entry.place, entry.key, secret_table);
            }
        }
        if (value.node->entries.empty()) {
            reader.error(value, "`file` is missing", "write {file: PATH}, a value with ${VAR}, or nothing");
        }
        return content;
    }
    if (value.node->kind == YamlNode::Kind::null) {
        if (!is_shell_name(name)) { // of a build
            reader.error(value, "it has no value, and its name is not one that a variable of yours can have",
                         "write \"${VARIABLE}\", or {file: PATH}");
            return std::nullopt;
        }
        auto found = resolve ? reader.variable(name) : std::nullopt;
        if (!found && resolve) {
            reader.error(value, fmt::format("the variable `{}` is not set in your environment", name),
                         "set it, or write {file: PATH}");
        }
        return found;
    }
    if (!resolve && value.node->kind == YamlNode::Kind::scalar) {
        return std::nullopt;
    }
    return reader.text(value, "a value, {file: PATH} or nothing");
}

} // namespace

Words secret_keys() {
    return secret_table;
}

void read_env(Reader& reader, const Value& value, std::map<std::string, std::string>& env, Variables of) {
    if (value.node->kind == YamlNode::Kind::list) {
        read_env_list(reader, value, of, env);
        return;
    }
    if (!reader.is_map(value, "a map or a list", "write `env: {NAME: value}`")) {
        return;
    }
    for (const auto& entry : value.node->entries) {
        const auto at = value.member(entry);
        if (!check_variable(reader, value, entry.place, entry.key)) {
            continue;
        }
        if (at.node->kind == YamlNode::Kind::null) {
            set_variable(reader, at, entry.key, std::nullopt, of, env);
        } else if (auto text = reader.text(at)) {
            set_variable(reader, at, entry.key, std::move(text), of, env);
        }
    }
}

void read_secrets(Reader& reader, const Value& value, bool resolve, std::vector<SecretSpec>& secrets,
                  Variables of) {
    auto hidden = value;
    hidden.secret = true;
    if (!reader.is_map(hidden, "a map", "write `secrets: {NAME: }` to take NAME from your environment")) {
        return;
    }
    for (const auto& entry : hidden.node->entries) {
        const auto at = hidden.member(entry);
        const bool of_build = of == Variables::of_build;
        if (!(of_build ? is_build_secret_id(entry.key) : is_shell_name(entry.key))) {
            auto where = hidden;
            where.place = entry.place; // unquoted: with NAME=VALUE for a key it would be the secret itself
            reader.error(where,
                         of_build ? "this key is not a secret's id" : "this key is not a variable's name",
                         of_build ? "letters, digits, `_`, `-` and `.`, a letter, digit or `_` first; the "
                                    "value follows a `: `"
                                  : "letters, digits and `_`, no digit first; the value follows a `: `");
            continue;
        }
        const auto before = reader.errors();
        auto content = read_secret(reader, at, entry.key, resolve && !of_build, of);
        if (of_build && resolve && reader.errors() == before) { // what is written there is right
            content = read_secret(reader, at, entry.key, true, of);
            reader.put_off(before);
        }
        secrets.push_back({entry.key, std::move(content).value_or("")});
    }
}

} // namespace dockdist
