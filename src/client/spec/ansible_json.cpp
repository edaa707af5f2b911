#include "client/spec/inventory_builder.hpp"
#include "shared/core/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

using nlohmann::json;

// Of values that are no text, as YAML would write them; lists and maps say nothing of how a host is reached.
std::optional<std::string> text_of(const json& value) {
    if (value.is_string()) {
        return value.get<std::string>();
    }
    if (value.is_object() && value.contains("__ansible_vault")) {
        return "$ANSIBLE_VAULT";
    }
    return value.is_number() ? std::optional(value.dump()) : std::nullopt;
}

void take_variables(const json& from, HostVariables& variables) {
    for (const auto& [name, value] : from.items()) {
        if (auto text = from.is_object() ? text_of(value) : std::nullopt) {
            variables[name] = std::move(*text);
        }
    }
}

// As programs print it: groups whose `hosts` and `children` are lists, or which are a list of hosts
// themselves, and what is known of hosts in `_meta`.
bool is_printed(const json& root) {
    if (root.contains("_meta")) {
        return true;
    }
    for (const auto& group : root) {
        if (group.is_array()) {
            return true;
        }
        for (const auto* key : {"hosts", "children"}) {
            if (group.is_object() && group.contains(key) && group.at(key).is_array()) {
                return true;
            }
        }
    }
    return false;
}

class JsonReader {
public:
    Result<InventoryBuilder> read(const json& root) {
        for (const auto& [name, group] : root.items()) {
            if (name == "_meta") {
                continue;
            }
            TRY(read_group(name, group));
        }
        if (const auto meta = root.find("_meta");
            meta != root.end() && meta->is_object() && meta->contains("hostvars")) {
            for (const auto& [name, variables] : meta->at("hostvars").items()) {
                if (auto* const known = builder_.known_host(name)) {
                    take_variables(variables, *known);
                }
            }
        }
        return std::move(builder_);
    }

private:
    Status read_group(const std::string& name, const json& node) {
        const auto group = builder_.group(name);
        if (node.is_array()) {
            return read_names(name, node, [&](const std::string& host) {
                builder_.add_host(group, builder_.host_with_port(host));
            });
        }
        if (!node.is_object()) {
            return list_error(0, "the group `" + printable(name) + "` is not a map");
        }
        if (node.contains("vars")) {
            take_variables(node.at("vars"), builder_.variables_of_group(group));
        }
        auto hosts = read_names(name, node.value("hosts", json::array()), [&](const std::string& host) {
            builder_.add_host(group, builder_.host_with_port(host));
        });
        if (!hosts) {
            return hosts;
        }
        return read_names(name, node.value("children", json::array()), [&](const std::string& child) {
            builder_.add_child(group, builder_.group(child));
        });
    }

    template <class Take>
    static Status read_names(const std::string& group, const json& names, const Take& take) {
        for (const auto& name : names) {
            if (!names.is_array() || !name.is_string()) {
                return list_error(0, "`hosts` and `children` of the group `" + printable(group) +
                                         "` are not lists of names");
            }
            take(name.get<std::string>());
        }
        return ok;
    }

    InventoryBuilder builder_{};
};

} // namespace

std::optional<Result<InventoryBuilder>> read_ansible_json(std::string_view text) {
    if (!text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size())).starts_with('{')) {
        return std::nullopt;
    }
    const auto root = json::parse(text, nullptr, false);
    return root.is_object() && is_printed(root) ? std::optional(JsonReader().read(root)) : std::nullopt;
}

} // namespace dockdist
