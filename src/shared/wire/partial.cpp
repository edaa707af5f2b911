#include "shared/wire/partial.hpp"

namespace dockdist::wire {
namespace {

constexpr const char* error_key = "error";

} // namespace

nlohmann::json failure_to_json(const Error& error) {
    return {{error_key, error_to_json(error)}};
}

std::optional<Error> failure_in(const nlohmann::json& json, std::string_view what) {
    const auto found = json.is_object() ? json.find(error_key) : json.end();
    if (found == json.end()) {
        return std::nullopt;
    }
    if (!found->is_object()) {
        return Error{ErrorKind::protocol, "", std::string(what) + " is an error that is not an object", ""};
    }
    ObjectReader reader(*found, std::string(what) + ", an error");
    auto error = read_error(reader);
    return reader.failed() ? reader.error() : error;
}

Status read_value(const nlohmann::json& json, std::string_view what, std::vector<std::string>& values) {
    if (!json.is_array()) {
        return Error{ErrorKind::protocol, "", std::string(what) + " is not an array", ""};
    }
    for (const auto& item : json) {
        if (!item.is_string()) {
            return Error{ErrorKind::protocol, "", std::string(what) + " is not an array of strings", ""};
        }
        values.push_back(item.get<std::string>());
    }
    return ok;
}

} // namespace dockdist::wire
