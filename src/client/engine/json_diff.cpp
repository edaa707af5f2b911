#include "client/engine/json_decode.hpp"
#include "client/engine/json_fields.hpp"

#include <functional>

namespace dockdist {
namespace {

constexpr std::int64_t kind_removed = 2; // as GET /containers/…/changes counts: 0 changed, 1 added

// Nothing where there is no list.
void each_object(JsonFields& fields, const char* name, const std::function<void(JsonFields&)>& take) {
    const auto* list = fields.find(name);
    if (list == nullptr) {
        return;
    }
    if (!list->is_array()) {
        fields.fail(name, "a list");
        return;
    }
    for (const auto& item : *list) {
        if (!item.is_object()) {
            fields.fail(name, "a list of objects");
            return;
        }
        JsonFields object(item, name);
        take(object);
        fields.take(object);
    }
}

} // namespace

Result<ContainerDiff> decode_diff(std::string_view changes, std::string_view details) {
    const std::string what = "what a container has written";
    const auto list = parse_json(changes, what);
    const auto value = parse_json(details, what);
    if (!list || !value) {
        return list ? value.error() : list.error();
    }
    ContainerDiff diff;
    const nlohmann::json whole{{"changes", *list}};
    JsonFields changed(whole, what);
    each_object(changed, "changes", [&](JsonFields& change) {
        auto path = change.text("Path");
        if (change.integer("Kind") != kind_removed && path.starts_with('/')) {
            diff.paths.push_back(std::move(path));
        }
    });
    JsonFields fields(*value, what);
    each_object(fields, "Mounts",
                [&](JsonFields& mount) { diff.places.push_back(mount.text("Destination")); });
    auto config = fields.object("Config");
    diff.places.push_back(config.text("WorkingDir"));
    fields.take(config);
    fields.take(changed);
    diff.written = Bytes{fields.natural("SizeRw")};
    if (fields.failure()) {
        return *fields.failure();
    }
    return diff;
}

} // namespace dockdist
