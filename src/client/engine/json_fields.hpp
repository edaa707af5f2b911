// Tolerant reading of an engine's JSON: unknown fields are ignored, a missing field or null is the default,
// and a field of a wrong type is an error that names it.
#pragma once

#include "shared/core/result.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// Parses text that must be one JSON value. `what` names it in the error: "the answer to GET /info".
Result<nlohmann::json> parse_json(std::string_view text, std::string_view what);

// One JSON object. The first wrong type met in it or in the objects inside it is kept in failure().
class JsonFields {
public:
    JsonFields(const nlohmann::json& object, std::string what);

    std::string text(const char* name);
    std::int64_t integer(const char* name, std::int64_t missing = 0);
    std::uint64_t natural(const char* name); // negative counts as 0
    bool flag(const char* name);
    std::vector<std::string> texts(const char* name);
    std::map<std::string, std::string> map(const char* name); // values that are null become ""
    std::vector<std::string> keys(const char* name);          // of an object, sorted
    // The object `name`, or an empty one. Its failures are its own: take() them.
    JsonFields object(const char* name);
    const nlohmann::json* find(const char* name) const; // null when missing or null

    const std::optional<Error>& failure() const { return failure_; }
    void take(const JsonFields& inner);
    void fail(const char* name, const char* expected);

private:
    static const nlohmann::json& empty();
    const nlohmann::json* object_;
    std::string what_; // path so far
    std::optional<Error> failure_{};
};

} // namespace dockdist
