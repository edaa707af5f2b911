#include "shared/wire/json_reader.hpp"

#include "shared/core/encode.hpp"
#include "shared/core/text.hpp"
#include "shared/core/utf8.hpp"

#include <limits>
#include <optional>

namespace dockdist::wire {
namespace {

using nlohmann::json;

Error protocol_error(std::string message) {
    return Error{.kind = ErrorKind::protocol,
                 .message = std::move(message),
                 .hint =
                     "is the node of another version of dockdist? `dockdist up` recreates it with this one"};
}

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        const auto character = decode_utf8(text);
        if (character.size == 0) {
            return false;
        }
        text.remove_prefix(character.size);
    }
    return true;
}

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return static_cast<unsigned>(c - '0');
    }
    if (c >= 'a' && c <= 'f') {
        return static_cast<unsigned>(c - 'a') + 10U;
    }
    return std::nullopt;
}

std::optional<std::string> from_hex(const std::string& hex) {
    if (hex.size() % 2 != 0) {
        return std::nullopt;
    }
    std::string bytes;
    bytes.reserve(hex.size() / 2);
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        const auto high = hex_digit(hex[i]);
        const auto low = hex_digit(hex[i + 1]);
        if (!high || !low) {
            return std::nullopt;
        }
        bytes += static_cast<char>(*high * 16 + *low);
    }
    return bytes;
}

ErrorKind error_kind_from(std::string_view name) {
    using enum ErrorKind;
    for (const auto kind : {usage, config, unreachable, timeout, protocol, engine, not_found, conflict, node,
                            job, locked, busy, interrupted, internal}) {
        if (to_string(kind) == name) {
            return kind;
        }
    }
    return node;
}

// Before it is parsed: a callback of the parser's would make it look at all elements of an array for each.
bool is_deep(std::string_view text) {
    int depth = 0;
    bool in_text = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_text && c == '\\') {
            ++i;
        } else if (c == '"') {
            in_text = !in_text;
        } else if (!in_text && (c == '{' || c == '[') && ++depth > max_depth) {
            return true;
        } else if (!in_text && (c == '}' || c == ']')) {
            --depth;
        }
    }
    return false;
}

} // namespace

json bytes_to_json(const std::string& bytes) {
    if (is_utf8(bytes)) {
        return bytes;
    }
    return json{{"hex", to_hex(bytes)}};
}

json bytes_array(const std::vector<std::string>& values) {
    json array = json::array();
    for (const auto& value : values) {
        array.push_back(bytes_to_json(value));
    }
    return array;
}

std::string dump(const json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<json> parse_object(std::string_view line, std::string_view what) {
    if (line.size() > max_line) {
        return protocol_error(std::string(what) + " is longer than 4 MiB");
    }
    if (is_deep(line)) {
        return protocol_error(std::string(what) + " nests objects too deeply");
    }
    auto parsed = json::parse(line.begin(), line.end(), nullptr, false);
    if (parsed.is_discarded()) {
        return protocol_error(std::string(what) + " is not JSON: " + printable(line.substr(0, 80)));
    }
    if (!parsed.is_object()) {
        return protocol_error(std::string(what) + " is not a JSON object: " + printable(line.substr(0, 80)));
    }
    // In place: a plain return could also mean a JSON value made from the whole Result.
    return Result<json>(boost::system::in_place_value, std::move(parsed));
}

const json* ObjectReader::any(const char* key) const {
    if (failed()) {
        return nullptr;
    }
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
}

void ObjectReader::fail(const std::string& message) {
    if (!failed()) {
        error_ = protocol_error(what_ + ": " + message);
    }
}

void ObjectReader::wrong_type(const char* key, const char* expected) {
    fail(std::string("\"") + key + "\" must be " + expected);
}

const json* ObjectReader::object(const char* key) {
    const auto* value = any(key);
    if (value != nullptr && !value->is_object()) {
        wrong_type(key, "an object");
        return nullptr;
    }
    return value;
}

void ObjectReader::require(const char* key) {
    if (!failed() && !object_.contains(key)) {
        fail(std::string("\"") + key + "\" is missing");
    }
}

void ObjectReader::read(const char* key, std::string& out) {
    if (const auto* value = any(key)) {
        if (!value->is_string()) {
            return wrong_type(key, "a string");
        }
        out = value->get_ref<const std::string&>();
    }
}

void ObjectReader::read(const char* key, std::string& out, std::size_t most) {
    read(key, out);
    if (out.size() > most) {
        fail("\"" + std::string(key) + "\" must be " + std::to_string(most) + " bytes at most");
    }
}

void ObjectReader::read(const char* key, std::int64_t& out) {
    if (const auto* value = any(key)) {
        if (!value->is_number_integer() ||
            (value->is_number_unsigned() &&
             value->get<std::uint64_t>() >
                 static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))) {
            return wrong_type(key, "an integer");
        }
        out = value->get<std::int64_t>();
    }
}

void ObjectReader::read(const char* key, int& out) {
    std::int64_t wide = out;
    read(key, wide);
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
        return wrong_type(key, "a 32-bit integer");
    }
    out = static_cast<int>(wide);
}

void ObjectReader::read(const char* key, std::uint64_t& out) {
    if (const auto* value = any(key)) {
        if (!value->is_number_integer() || (!value->is_number_unsigned() && value->get<std::int64_t>() < 0)) {
            return wrong_type(key, "an integer from 0");
        }
        out = value->get<std::uint64_t>();
    }
}

void ObjectReader::read(const char* key, double& out) {
    if (const auto* value = any(key)) {
        if (!value->is_number()) {
            return wrong_type(key, "a number");
        }
        out = value->get<double>();
    }
}

void ObjectReader::read(const char* key, std::int64_t& out, std::int64_t least, std::int64_t most) {
    read(key, out);
    if (!failed() && (out < least || out > most)) {
        wrong_type(key, ("from " + std::to_string(least) + " to " + std::to_string(most)).c_str());
    }
}

void ObjectReader::read(const char* key, int& out, int least, int most) {
    std::int64_t wide = out;
    read(key, wide, least, most);
    out = failed() ? out : static_cast<int>(wide);
}

void ObjectReader::read(const char* key, bool& out) {
    if (const auto* value = any(key)) {
        if (!value->is_boolean()) {
            return wrong_type(key, "true or false");
        }
        out = value->get<bool>();
    }
}

bool ObjectReader::bytes(const json& json, std::string& out) {
    if (json.is_string()) {
        out = json.get_ref<const std::string&>();
        return true;
    }
    if (!json.is_object()) {
        return false;
    }
    const auto hex = json.find("hex");
    if (hex == json.end() || !hex->is_string()) {
        return false;
    }
    auto decoded = from_hex(hex->get_ref<const std::string&>());
    if (!decoded) {
        return false;
    }
    out = std::move(*decoded);
    return true;
}

void ObjectReader::read_bytes(const char* key, std::string& out) {
    if (const auto* value = any(key); value != nullptr && !bytes(*value, out)) {
        wrong_type(key, "a string or {\"hex\": …}");
    }
}

void ObjectReader::read_bytes(const char* key, std::vector<std::string>& out) {
    const auto* values = array(key);
    if (values == nullptr) {
        return;
    }
    out.assign(values->size(), {});
    for (std::size_t i = 0; i < values->size(); ++i) {
        if (!bytes((*values)[i], out[i])) {
            return wrong_type(key, "an array of strings");
        }
    }
}

void ObjectReader::read_bytes(const char* key, std::map<std::string, std::string>& out) {
    const auto* value = any(key);
    if (value == nullptr) {
        return;
    }
    if (!value->is_object()) {
        return wrong_type(key, "an object of strings");
    }
    out.clear();
    for (const auto& [name, item] : value->items()) {
        if (!bytes(item, out[name])) {
            return wrong_type(key, "an object of strings");
        }
    }
}

const json* ObjectReader::array(const char* key) {
    const auto* value = any(key);
    if (value != nullptr && !value->is_array()) {
        wrong_type(key, "an array");
        return nullptr;
    }
    return value;
}

Error read_error(ObjectReader& reader) {
    Error error;
    std::string kind;
    reader.read("kind", kind);
    reader.read("where", error.where);
    reader.read("message", error.message);
    reader.read("hint", error.hint);
    error.kind = error_kind_from(kind);
    if (error.message.empty()) { // to nobody's use, and ObjectReader takes it for none
        error.message = "it says nothing of what went wrong";
    }
    return error;
}

json error_to_json(const Error& error) {
    return json{{"kind", to_string(error.kind)},
                {"where", error.where},
                {"message", error.message},
                {"hint", error.hint}};
}

} // namespace dockdist::wire
