#include "client/spec/inventory_builder.hpp"
#include "client/spec/yaml_tree.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist {
namespace {

Error misplaced(const YamlNode& node, std::string message) {
    return list_error(static_cast<std::size_t>(node.place.line), std::move(message),
                      "an inventory is groups with `hosts`, `vars` and `children`, each a map");
}

// Values that only Ansible can read, or shall not fill in.
constexpr std::array<std::string_view, 3> ansible_tags{"!vault", "!vault-encrypted", "!unsafe"};

Error first_mistake(const YamlDocument& document) {
    const auto& first = document.mistakes.front();
    return list_error(static_cast<std::size_t>(first.place.line), first.message, first.hint);
}

bool holds_nothing(std::string_view text) {
    return std::ranges::all_of(split(text, '\n'), [](const std::string& line) {
        const auto bare = bare_line(line);
        return bare.empty() || bare == "---" || bare == "...";
    });
}

void take_variables(const YamlNode& node, HostVariables& variables) {
    for (const auto& entry : node.entries) {
        if (entry.value->kind == YamlNode::Kind::scalar) {
            variables[entry.key] = entry.value->text;
        }
    }
}

class YamlReader {
public:
    Status read_group(const std::string& name, const YamlNode& node) {
        const auto group = builder_.group(name);
        if (node.kind == YamlNode::Kind::null) {
            return ok;
        }
        if (node.kind != YamlNode::Kind::map) {
            return misplaced(node, "the group `" + printable(name) + "` is not a map");
        }
        for (const auto& [key, place, value] : node.entries) {
            if (value->kind == YamlNode::Kind::null) {
                continue;
            }
            if (value->kind != YamlNode::Kind::map) {
                return misplaced(*value, "`" + printable(key) + "` of the group `" + printable(name) +
                                             "` is not a map");
            }
            auto done = Status(ok);
            if (key == "hosts") {
                done = read_hosts(group, *value);
            } else if (key == "vars") {
                take_variables(*value, builder_.variables_of_group(group));
            } else if (key == "children") {
                done = read_children(group, *value);
            } else {
                done = misplaced(*value, "`" + printable(key) + "` means nothing in a group");
            }
            if (!done) {
                return done;
            }
        }
        return ok;
    }

    InventoryBuilder take() { return std::move(builder_); }

private:
    Status read_hosts(std::size_t group, const YamlNode& node) {
        for (const auto& entry : node.entries) {
            const auto names = expand_ansible_range(entry.key);
            if (!names) {
                return list_error(static_cast<std::size_t>(entry.place.line), names.error().message,
                                  names.error().hint);
            }
            for (const auto& name : *names) {
                const auto host = builder_.host_with_port(name);
                builder_.add_host(group, host);
                take_variables(*entry.value, builder_.variables_of_host(host));
            }
        }
        return ok;
    }

    Status read_children(std::size_t group, const YamlNode& node) {
        for (const auto& entry : node.entries) {
            builder_.add_child(group, builder_.group(entry.key));
            if (auto done = read_group(entry.key, *entry.value); !done) {
                return done;
            }
        }
        return ok;
    }

    InventoryBuilder builder_{};
};

} // namespace

Result<InventoryBuilder> read_ansible_yaml(std::string_view text) {
    const auto document = parse_yaml(text, ansible_tags);
    if (!document.mistakes.empty()) {
        return first_mistake(document);
    }
    if (document.root == nullptr || document.root->kind != YamlNode::Kind::map) {
        return list_error(0, "it is not an Ansible inventory in YAML",
                          "it is groups with `hosts`, `vars` and `children`, each a map");
    }
    YamlReader reader;
    for (const auto& entry : document.root->entries) {
        TRY(reader.read_group(entry.key, *entry.value));
    }
    return reader.take();
}

Result<HostVariables> read_ansible_variables(std::string_view text) {
    HostVariables variables;
    if (text.starts_with("$ANSIBLE_VAULT") || holds_nothing(text)) {
        return variables;
    }
    const auto document = parse_yaml(text, ansible_tags);
    if (!document.mistakes.empty()) {
        return first_mistake(document);
    }
    take_variables(*document.root, variables);
    return variables;
}

} // namespace dockdist
