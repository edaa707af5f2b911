// How the values of fields (fields.hpp) stand in JSON, and what they are read into: json_of and read_field
// for each kind of them. A value that is not written as its type says is given as by(), bytes_of(), named() …
#pragma once

#include "shared/core/text.hpp"
#include "shared/wire/partial.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dockdist::wire {

class WritingFields;
template <class T>
nlohmann::json json_of(const T& value);
template <class T>
nlohmann::json listed_object(const T& message);
template <class T>
void read_listed(ObjectReader& reader, T& message);

template <class Message, class T>
concept Of = std::same_as<std::remove_const_t<Message>, T>;

// What a header declares goes before a list, which not every source can see.
template <class T>
concept HasToJson = requires(nlohmann::json& out, const T& message) { to_json(out, message); };
template <class T>
concept HasReadFields = requires(ObjectReader& reader, T& message) { read_fields(reader, message); };
template <class T>
concept Listed = requires(WritingFields& fields, const T& message) { fields_of(fields, message); };

inline constexpr std::int64_t any_count = std::numeric_limits<std::int64_t>::max();
inline constexpr int any_int = std::numeric_limits<int>::max();
inline constexpr int highest_port = 65535;

// A value in a form of its own: write(value) makes the JSON, read(reader, key, value) reads it.
template <class T, class Write, class Read>
struct By {
    T& value;
    Write write;
    Read read;
};
template <class T, class Write, class Read>
By<T, Write, Read> by(T& value, Write write, Read read) {
    return {value, write, read};
}

// Written as its type says.
template <class T, class Read>
auto read_by(T& value, Read read) {
    return by(value, [](const auto& known) { return json_of(known); }, read);
}

inline nlohmann::json bytes_json(const std::string& bytes) {
    return bytes_to_json(bytes);
}
inline nlohmann::json bytes_json(const std::vector<std::string>& values) {
    return bytes_array(values);
}
inline nlohmann::json bytes_json(const std::map<std::string, std::string>& values) {
    auto object = nlohmann::json::object();
    for (const auto& [name, value] : values) {
        object[name] = bytes_to_json(value);
    }
    return object;
}

// Bytes that need not be UTF-8: see bytes_to_json.
template <class T>
auto bytes_of(T& value) {
    return by(
        value, [](const auto& bytes) { return bytes_json(bytes); },
        [](ObjectReader& reader, const char* key, auto& bytes) { reader.read_bytes(key, bytes); });
}

// Variables of each: [{"env":{…}}, …].
template <class T>
auto env_objects(T& each) {
    return by(
        each,
        [](const auto& envs) {
            auto array = nlohmann::json::array();
            for (const auto& env : envs) {
                array.push_back({{"env", bytes_json(env)}});
            }
            return array;
        },
        [](ObjectReader& reader, const char* key, auto& envs) {
            read_objects(reader, key,
                         [&](ObjectReader& item) { item.read_bytes("env", envs.emplace_back()); });
        });
}

// The words that stand on the wire for an enumeration.
template <class E>
struct Word {
    E value;
    std::string_view word;
};
template <class E, std::size_t count>
using Words = std::array<Word<E>, count>;

template <class E, std::size_t count>
std::string_view word_of(const Words<E, count>& words, std::type_identity_t<E> value) {
    return std::ranges::find(words, value, &Word<E>::value)->word;
}
template <class E, std::size_t count>
std::optional<E> meant_by(const Words<E, count>& words, std::string_view word) {
    const auto found = std::ranges::find(words, word, &Word<E>::word);
    return found == words.end() ? std::nullopt : std::optional(found->value);
}

// Any other word, of a later dockdist, leaves the value as it is.
template <class E, class Table>
auto named_if_known(E& value, const Table& words) {
    return by(
        value, [&words](auto known) { return std::string(word_of(words, known)); },
        [&words](ObjectReader& reader, const char* key, auto& out) {
            std::string word;
            reader.read(key, word);
            out = meant_by(words, word).value_or(out);
        });
}
// Any other word is an error.
template <class E, class Table>
auto named(E& value, const Table& words) {
    return by(
        value, [&words](auto known) { return std::string(word_of(words, known)); },
        [&words](ObjectReader& reader, const char* key, auto& out) {
            std::string word;
            reader.read(key, word);
            if (const auto known = meant_by(words, word)) {
                out = *known;
            } else if (reader.any(key) != nullptr) {
                reader.fail("unknown " + std::string(key) + " \"" + printable(word.substr(0, 80)) + "\"");
            }
        });
}

template <class T>
nlohmann::json json_of(const T& value) {
    if constexpr (std::same_as<T, Error>) {
        return error_to_json(value);
    } else if constexpr (!HasToJson<T> && Listed<T>) {
        return listed_object(value);
    } else {
        return nlohmann::json(value);
    }
}
template <class T, class Write, class Read>
nlohmann::json json_of(const By<T, Write, Read>& by) {
    return by.write(by.value);
}
template <class T>
nlohmann::json json_of(const std::vector<T>& items) {
    auto array = nlohmann::json::array();
    for (const auto& item : items) {
        array.push_back(json_of(item));
    }
    return array;
}
template <class T>
nlohmann::json json_of(const std::map<std::string, Result<T>>& values) {
    return partials_to_json(values);
}

template <class T>
bool is_empty(const T& value) {
    if constexpr (requires { value.empty(); }) {
        return value.empty();
    } else {
        return value == T{};
    }
}
template <class T, class Write, class Read>
bool is_empty(const By<T, Write, Read>& by) {
    return is_empty(by.value);
}

// The object in `reader` is a T.
template <class T>
void read_message(ObjectReader& reader, T& message) {
    if constexpr (std::same_as<T, Error>) {
        message = read_error(reader);
    } else if constexpr (HasReadFields<T>) {
        read_fields(reader, message);
    } else {
        read_listed(reader, message);
    }
}

template <class T>
    requires requires(ObjectReader& reader, T& value) { reader.read("", value); }
void read_field(ObjectReader& reader, const char* key, T& value) {
    reader.read(key, value);
}
inline void read_field(ObjectReader& reader, const char* key, std::string& value, std::size_t most) {
    reader.read(key, value, most);
}
// Also of a type that ObjectReader has no bounds for.
template <std::integral T>
void read_field(ObjectReader& reader, const char* key, T& value, std::int64_t least, std::int64_t most) {
    auto wide = static_cast<std::int64_t>(value);
    reader.read(key, wide, least, most);
    value = reader.failed() ? value : static_cast<T>(wide);
}
template <class T, class Write, class Read>
void read_field(ObjectReader& reader, const char* key, const By<T, Write, Read>& by) {
    by.read(reader, key, by.value);
}
inline void read_field(ObjectReader& reader, const char* key, std::vector<std::string>& value) {
    reader.read_bytes(key, value);
}
// Whole numbers; `are` says which: "port numbers".
inline void read_field(ObjectReader& reader, const char* key, std::vector<int>& numbers, int least, int most,
                       std::string_view are) {
    const auto* const array = reader.array(key);
    if (array == nullptr) {
        return;
    }
    for (const auto& number : *array) {
        if (!number.is_number_integer() || number < least || number > most) {
            return reader.fail("\"" + std::string(key) + "\" must be an array of " + std::string(are));
        }
        numbers.push_back(number.get<int>());
    }
}
template <class T>
    requires HasReadFields<T> || Listed<T>
void read_field(ObjectReader& reader, const char* key, T& message) {
    read_object(reader, key, [&](ObjectReader& object) { read_message(object, message); });
}
template <class T>
    requires HasReadFields<T> || Listed<T>
void read_field(ObjectReader& reader, const char* key, std::vector<T>& messages,
                std::size_t most = std::numeric_limits<std::size_t>::max()) {
    read_objects(reader, key, [&](ObjectReader& item) {
        if (messages.size() == most) {
            return item.fail("there are too many");
        }
        read_message(item, messages.emplace_back());
    });
}
// An object of any keys.
template <class T>
void read_field(ObjectReader& reader, const char* key, std::map<std::string, T>& values) {
    read_object(reader, key, [&](ObjectReader& object) {
        for (const auto& [name, unused] : reader.object(key)->items()) {
            read_field(object, name.c_str(), values[name]);
        }
    });
}
template <class T>
void read_field(ObjectReader& reader, const char* key, std::map<std::string, Result<T>>& values) {
    read_partials(reader, key, values);
}

// Written as null when it holds nothing.
template <class T>
auto nullable(T& optional) {
    return by(
        optional, [](const auto& known) { return known ? json_of(*known) : nlohmann::json(nullptr); },
        [](ObjectReader& reader, const char* key, auto& known) {
            if (const auto* const value = reader.any(key); value != nullptr && !value->is_null()) {
                read_field(reader, key, known.emplace());
            }
        });
}

} // namespace dockdist::wire
