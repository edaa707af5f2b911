// What a message holds is listed once, for both ways. In the source of each stands
//
//   void fields_of(auto& fields, Of<LinkPeer> auto& peer) {
//       fields("node", peer.node);
//       fields.required("port", peer.port, 1, highest_port);
//   }
//
// which WritingFields runs to make the JSON, and ReadingFields to fill the message: no side can forget a
// field. What follows a value are the bounds of what is read: the least and the most of a number, the most
// bytes of a text, the most items of an array of messages. A missing key leaves its field as it is. A
// std::optional is left out when it holds nothing.
//
// For the sources of messages alone: a header declares functions.
#pragma once

#include "shared/wire/field_values.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace dockdist::wire {

class WritingFields {
public:
    explicit WritingFields(nlohmann::json& out) : out_(out) {}

    void operator()(const char* key, const auto& value, const auto&... /*bounds*/) {
        out_[key] = json_of(value);
    }
    template <class T>
    void operator()(const char* key, const std::optional<T>& value, const auto&... /*bounds*/) {
        if (value) {
            (*this)(key, *value);
        }
    }
    void required(const char* key, const auto& value, const auto&... /*bounds*/) { (*this)(key, value); }
    // Left out where that is not so; it is read in any case.
    void when(bool is_so, const char* key, const auto& value, const auto&... /*bounds*/) {
        if (is_so) {
            (*this)(key, value);
        }
    }
    // Left out when it is empty, 0, false, or as it begins.
    void omit_empty(const char* key, const auto& value, const auto&... /*bounds*/) {
        when(!is_empty(value), key, value);
    }
    // The fields of `message` beside the others.
    void all_of(const auto& message) { out_.update(json_of(message)); }
    void constant(const char* key, const char* word) { out_[key] = word; } // that is not read here
    void check(bool /*right*/, std::string_view /*message*/) {}
    // What one side does alone.
    void writing(const auto& write) { write(out_); }
    void reading(const auto& /*read*/) {}

private:
    nlohmann::json& out_;
};

class ReadingFields {
public:
    explicit ReadingFields(ObjectReader& reader) : reader_(reader) {}

    void operator()(const char* key, auto&& value, const auto&... bounds) {
        read_field(reader_, key, value, bounds...);
    }
    template <class T>
    void operator()(const char* key, std::optional<T>& value, const auto&... bounds) {
        if (reader_.any(key) != nullptr) {
            read_field(reader_, key, value.emplace(), bounds...);
        }
    }
    void required(const char* key, auto&& value, const auto&... bounds) {
        reader_.require(key);
        (*this)(key, value, bounds...);
    }
    void when(bool /*is_so*/, const char* key, auto&& value, const auto&... bounds) {
        (*this)(key, value, bounds...);
    }
    void omit_empty(const char* key, auto&& value, const auto&... bounds) { (*this)(key, value, bounds...); }
    void all_of(auto& message) { read_message(reader_, message); }
    void constant(const char* /*key*/, const char* /*word*/) {}
    void check(bool right, std::string_view message) {
        if (!right) {
            reader_.fail(std::string(message));
        }
    }
    void writing(const auto& /*write*/) {}
    void reading(const auto& read) { read(reader_); }

private:
    ObjectReader& reader_;
};

template <class T>
nlohmann::json listed_object(const T& message) {
    auto object = nlohmann::json::object();
    WritingFields fields(object);
    fields_of(fields, message);
    return object;
}

template <class T>
void read_listed(ObjectReader& reader, T& message) {
    ReadingFields fields(reader);
    fields_of(fields, message);
}

// A whole line, or the argument of a command; `what` names it in messages: "a job's event". `check` looks at
// what was read, where the list cannot: check(reader, message).
template <class T>
Result<T> parse(std::string_view line, std::string_view what, const auto& check) {
    const auto object = parse_object(line, what);
    TRY(object);
    T message{};
    ObjectReader reader(*object, what);
    read_message(reader, message);
    if (!reader.failed()) {
        check(reader, message);
    }
    if (reader.failed()) {
        return reader.error();
    }
    return message;
}
template <class T>
Result<T> parse(std::string_view line, std::string_view what) {
    return parse<T>(line, what, [](const ObjectReader&, const T&) {});
}

std::string text_of(const auto& message) {
    return dump(json_of(message));
}
std::string line_of(const auto& message) { // with '\n'
    return text_of(message) + "\n";
}

} // namespace dockdist::wire

// Defines the two functions that a message's header declares for those who have it inside theirs.
// NOLINTBEGIN(bugprone-macro-parentheses): a type takes none
#define DEFINE_BY_FIELDS(Message)                                                                            \
    void to_json(nlohmann::json& out, const Message& message) {                                              \
        out = listed_object(message);                                                                        \
    }                                                                                                        \
    void read_fields(ObjectReader& reader, Message& message) {                                               \
        read_listed(reader, message);                                                                        \
    }
// NOLINTEND(bugprone-macro-parentheses)
