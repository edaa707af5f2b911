// Reads a JSON object that comes from the other side: unknown keys are tolerated, a wrong type is an error
// that names the key. The first error stays; later reads do nothing.
#pragma once

#include "shared/core/result.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

// Bytes that need not be UTF-8 (an argument, a variable's value, a line of output): a plain JSON string where
// they are, else {"hex":"…"}.
nlohmann::json bytes_to_json(const std::string& bytes);

nlohmann::json bytes_array(const std::vector<std::string>& values);

// Never throws, whatever the strings in it hold.
std::string dump(const nlohmann::json& json);

inline constexpr std::size_t max_line = 4U << 20U;
inline constexpr int max_depth = 32; // of objects and arrays in each other

// The object in one line, or ErrorKind::protocol. `what` names it in messages: "the join request".
Result<nlohmann::json> parse_object(std::string_view line, std::string_view what);

class ObjectReader {
public:
    ObjectReader(const nlohmann::json& object, std::string_view what) : object_(object), what_(what) {}

    // A missing key leaves `out` as it is.
    void read(const char* key, std::string& out);
    void read(const char* key, int& out);
    void read(const char* key, std::int64_t& out);
    void read(const char* key, std::uint64_t& out);
    void read(const char* key, double& out);
    void read(const char* key, bool& out);
    void read(const char* key, std::string& out, std::size_t most); // and is an error beyond so many bytes
    // And is an error beyond the two.
    void read(const char* key, int& out, int least, int most);
    void read(const char* key, std::int64_t& out, std::int64_t least, std::int64_t most);
    void read_bytes(const char* key, std::string& out);
    void read_bytes(const char* key, std::vector<std::string>& out);
    void read_bytes(const char* key, std::map<std::string, std::string>& out);
    // The array under `key`; nullptr when it is missing or wrong.
    const nlohmann::json* array(const char* key);
    const nlohmann::json* object(const char* key);    // the same
    const nlohmann::json* any(const char* key) const; // whatever it is; nullptr when it is missing

    void require(const char* key);
    void fail(const std::string& message);
    bool failed() const { return !error_.message.empty(); }
    const Error& error() const { return error_; }

private:
    bool bytes(const nlohmann::json& json, std::string& out);
    void wrong_type(const char* key, const char* expected);

    const nlohmann::json& object_;
    std::string what_;
    Error error_{};
};

// The objects of an array; nothing when it is missing or wrong.
template <class Read>
void read_objects(ObjectReader& reader, const char* key, Read read) {
    const auto* items = reader.array(key);
    if (items == nullptr) {
        return;
    }
    for (const auto& item : *items) {
        if (!item.is_object()) {
            return reader.fail(std::string("\"") + key + "\" must be an array of objects");
        }
        ObjectReader nested(item, key);
        read(nested);
        if (nested.failed()) {
            return reader.fail(nested.error().message);
        }
    }
}

// The object under `key`; nothing when it is missing or wrong.
template <class Read>
void read_object(ObjectReader& reader, const char* key, Read read) {
    const auto* object = reader.object(key);
    if (object == nullptr) {
        return;
    }
    ObjectReader nested(*object, key);
    read(nested);
    if (nested.failed()) {
        reader.fail(nested.error().message);
    }
}

// An Error as {"kind","where","message","hint"}; an unknown kind is read as ErrorKind::node.
nlohmann::json error_to_json(const Error& error);
Error read_error(ObjectReader& reader);

} // namespace dockdist::wire
