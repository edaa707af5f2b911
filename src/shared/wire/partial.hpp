// Values that the other side may not have come to: the value itself, or {"error":{kind, message, hint}} in
// its place. Beside each type stand its to_json and its read_fields.
#pragma once

#include "shared/wire/json_reader.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

nlohmann::json failure_to_json(const Error& error);

// The error in `json`, where one stands there; a protocol error where it is of no known shape.
std::optional<Error> failure_in(const nlohmann::json& json, std::string_view what);

// An object by its read_fields, or ErrorKind::protocol. `what` names it in messages.
template <class T>
Status read_value(const nlohmann::json& json, std::string_view what, T& value) {
    if (!json.is_object()) {
        return Error{ErrorKind::protocol, "", std::string(what) + " is not an object", ""};
    }
    ObjectReader reader(json, what);
    read_fields(reader, value);
    return reader.failed() ? Status(reader.error()) : ok;
}

Status read_value(const nlohmann::json& json, std::string_view what, std::vector<std::string>& values);

// An array of such objects.
template <class T>
Status read_value(const nlohmann::json& json, std::string_view what, std::vector<T>& values) {
    if (!json.is_array()) {
        return Error{ErrorKind::protocol, "", std::string(what) + " is not an array", ""};
    }
    for (const auto& item : json) {
        if (const auto read = read_value(item, what, values.emplace_back()); !read) {
            return read;
        }
    }
    return ok;
}

template <class T>
nlohmann::json partial_to_json(const Result<T>& value) {
    return value ? nlohmann::json(*value) : failure_to_json(value.error());
}

template <class T>
Result<T> read_partial(const nlohmann::json& json, std::string_view what) {
    if (auto error = failure_in(json, what)) {
        return *std::move(error);
    }
    T value{};
    const auto read = read_value(json, what, value);
    return read ? Result<T>(std::move(value)) : read.error();
}

// {NAME:{…}, NAME:{"error":{…}}, …}; a missing one is empty.
template <class T>
nlohmann::json partials_to_json(const std::map<std::string, Result<T>>& values) {
    auto json = nlohmann::json::object();
    for (const auto& [name, value] : values) {
        json[name] = partial_to_json(value);
    }
    return json;
}

template <class T>
void read_partials(ObjectReader& reader, const char* key, std::map<std::string, Result<T>>& values) {
    const auto* object = reader.object(key);
    if (object == nullptr) {
        return;
    }
    for (const auto& [name, value] : object->items()) {
        values.insert_or_assign(name, read_partial<T>(value, "the node's answer about " + name));
    }
}

} // namespace dockdist::wire
