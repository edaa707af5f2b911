#include "client/engine/json_fields.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <limits>

namespace dockdist {

using nlohmann::json;

Result<json> parse_json(std::string_view text, std::string_view what) {
    // Deep nesting would end in recursion when the value is destroyed; an engine's answers have about ten
    // levels.
    constexpr int deepest = 200;
    const auto shallow = [](int depth, json::parse_event_t, json&) {
        if (depth > deepest) {
            throw json::other_error::create(501, "too deep", nullptr);
        }
        return true;
    };
    try {
        return {boost::system::in_place_value,
                json::parse(text, shallow)}; // json converts to anything, Error included
    } catch (const json::exception&) {
        return Error{
            ErrorKind::protocol, "",
            fmt::format("{} is not valid JSON (it begins with '{}')", what, printable(text.substr(0, 60))),
            "is it a Docker engine that answers there, and no proxy in between?"};
    }
}

JsonFields::JsonFields(const json& object, std::string what) : object_(&object), what_(std::move(what)) {
    if (!object.is_object()) {
        failure_ = Error{ErrorKind::protocol, "", fmt::format("{} is not an object", what_), ""};
        object_ = &empty();
    }
}

const json& JsonFields::empty() {
    static const json object = json::object();
    return object;
}

const json* JsonFields::find(const char* name) const {
    const auto found = object_->find(name);
    return found == object_->end() || found->is_null() ? nullptr : &*found;
}

void JsonFields::fail(const char* name, const char* expected) {
    if (!failure_) {
        failure_ = Error{ErrorKind::protocol, "",
                         fmt::format("{}: the field {} is not {}", what_, name, expected), ""};
    }
}

void JsonFields::take(const JsonFields& inner) {
    if (!failure_) {
        failure_ = inner.failure_;
    }
}

std::string JsonFields::text(const char* name) {
    const auto* value = find(name);
    if (value == nullptr) {
        return {};
    }
    if (!value->is_string()) {
        fail(name, "a text");
        return {};
    }
    return value->get<std::string>();
}

std::int64_t JsonFields::integer(const char* name, std::int64_t missing) {
    const auto* value = find(name);
    if (value == nullptr) {
        return missing;
    }
    if (!value->is_number_integer() ||
        (value->is_number_unsigned() &&
         value->get<std::uint64_t>() >
             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))) {
        fail(name, "an integer");
        return missing;
    }
    return value->get<std::int64_t>();
}

std::uint64_t JsonFields::natural(const char* name) {
    const auto number = integer(name);
    return number < 0 ? 0 : static_cast<std::uint64_t>(number);
}

bool JsonFields::flag(const char* name) {
    const auto* value = find(name);
    if (value == nullptr) {
        return false;
    }
    if (!value->is_boolean()) {
        fail(name, "true or false");
        return false;
    }
    return value->get<bool>();
}

std::vector<std::string> JsonFields::texts(const char* name) {
    const auto* value = find(name);
    std::vector<std::string> result;
    if (value == nullptr) {
        return result;
    }
    if (!value->is_array()) {
        fail(name, "a list of texts");
        return result;
    }
    for (const auto& entry : *value) {
        if (!entry.is_string()) {
            fail(name, "a list of texts");
            return {};
        }
        result.push_back(entry.get<std::string>());
    }
    return result;
}

std::map<std::string, std::string> JsonFields::map(const char* name) {
    const auto* value = find(name);
    std::map<std::string, std::string> result;
    if (value == nullptr) {
        return result;
    }
    if (!value->is_object()) {
        fail(name, "an object of texts");
        return result;
    }
    for (const auto& [key, entry] : value->items()) {
        if (!entry.is_string() && !entry.is_null()) {
            fail(name, "an object of texts");
            return {};
        }
        result.emplace(key, entry.is_null() ? std::string() : entry.get<std::string>());
    }
    return result;
}

std::vector<std::string> JsonFields::keys(const char* name) {
    const auto* value = find(name);
    std::vector<std::string> result;
    if (value == nullptr) {
        return result;
    }
    if (!value->is_object()) {
        fail(name, "an object");
        return result;
    }
    for (const auto& entry : value->items()) {
        result.push_back(entry.key());
    }
    return result;
}

JsonFields JsonFields::object(const char* name) {
    const auto* value = find(name);
    return {value == nullptr ? empty() : *value, fmt::format("{}: {}", what_, name)};
}

} // namespace dockdist
