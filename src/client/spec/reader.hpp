// What the readers of cluster.yaml's sections share: typed values out of a YAML tree, tables of keys, and a
// list of mistakes that grows while reading goes on.
#pragma once

#include "client/spec/load_spec.hpp"
#include "client/spec/yaml_tree.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dockdist {

using Words = std::span<const std::string_view>;

// A node and the path of keys that leads to it ("hosts[1].docker"), which every message about it names.
struct Value {
    const YamlNode* node = nullptr;
    std::string path{};
    Place place{};       // for messages; of the key where the value is absent
    bool secret = false; // no message may quote it

    Value item(std::size_t index) const;
    Value member(const YamlEntry& entry) const;
};

class Reader {
public:
    Reader(const Environment& environment, std::filesystem::path folder, const LoadOptions& options)
        : environment_(environment), folder_(std::move(folder)), options_(options) {}

    // `message` is what follows the path: "`PATH`: message".
    void error(const Value& at, const std::string& message, std::string hint = {});
    void warning(const Value& at, const std::string& message, std::string hint = {});
    void add(YamlMistake mistake) { errors_.push_back(std::move(mistake)); }
    // Those after the first `count` are none yet: a secret that is not to be had matters where it is needed.
    void put_off(std::size_t count);
    void expected(const Value& at, std::string_view what, std::string hint = {});
    void unknown(const Value& in, Place place, const std::string& key, Words allowed);

    // Each answers with nothing, and has said why, when the value is not of the kind asked for.
    std::optional<std::string> text(const Value& value, std::string_view what = "text");
    std::optional<std::string> line(const Value& value,
                                    std::string_view what); // text, not empty, no control characters
    std::optional<std::int64_t> integer(const Value& value, std::int64_t min, std::int64_t max);
    std::optional<bool> boolean(const Value& value);
    std::optional<Bytes> size(const Value& value);
    std::optional<std::size_t> word(const Value& value, Words words); // index into `words`
    std::vector<Value> list(const Value& value, std::string_view what, std::string hint = {});
    bool is_map(const Value& value, std::string_view what = "a map",
                std::string hint = {}); // false for an empty section, too

    std::optional<std::string> variable(const std::string& name) const { return environment_(name); }
    const std::filesystem::path& folder() const { return folder_; }
    bool resolve_secrets() const { return options_.resolve_secrets; }
    bool resolve_build_secrets() const { return options_.resolve_build_secrets; }
    const LoadOptions& options() const { return options_; }
    std::size_t errors() const { return errors_.size(); } // so far

    // Made of what `value` says: `~/` is the person's home, a relative path is below the file's folder.
    std::optional<std::string> client_path(const Value& value, const std::string& path);

    std::vector<YamlMistake> take_errors();
    std::vector<YamlMistake> take_warnings();
    std::vector<YamlMistake> take_put_off();

private:
    const Environment& environment_;
    std::filesystem::path folder_;
    const LoadOptions& options_;
    std::vector<YamlMistake> errors_{}, warnings_{}, put_off_{};
};

// "a list", "`abc`", …: what stands at `value`, as far as it may be told.
std::string found(const Value& value);
std::string in_quotes(std::string_view text); // in backquotes, printable, shortened
std::string join(Words words);                // "`a`, `b`"

// One key that a section knows. `words`: the only texts it may hold, for suggestions and for the schema's
// test.
template <class T>
struct Key {
    std::string_view name;
    void (*read)(Reader& reader, const Value& value, T& target);
    Words words{};
};

template <class T>
void read_keys(Reader& reader, const Value& section, std::span<const Key<T>> keys, T& target) {
    for (const auto& entry : section.node->entries) {
        const Key<T>* known = nullptr;
        for (const auto& key : keys) {
            if (key.name == entry.key) {
                known = &key;
            }
        }
        if (known != nullptr) {
            known->read(reader, section.member(entry), target);
            continue;
        }
        std::vector<std::string_view> names;
        for (const auto& key : keys) {
            names.push_back(key.name);
        }
        reader.unknown(section, entry.place, entry.key, names);
    }
}

} // namespace dockdist
