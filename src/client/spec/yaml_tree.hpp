// YAML as a tree in which every value knows its place. It stands between yaml-cpp and the readers because
// yaml-cpp's own nodes drop what good messages and safety need: duplicate keys, the place of a key, how often
// an alias is repeated.
#pragma once

#include <compare>
#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// Both count from 1; columns count characters, as editors do.
struct Place {
    int line = 1;
    int column = 1;
    auto operator<=>(const Place&) const = default;
};

struct YamlNode;

struct YamlEntry {
    std::string key{};
    Place place{}; // of the key
    const YamlNode* value = nullptr;
};

struct YamlNode {
    enum class Kind { null, scalar, list, map };
    Kind kind = Kind::null;
    Place place{};
    std::string
        text{}; // scalar: as it was written, never converted, so that `no` and `0755` stay what they are
    bool verbatim = false;  // scalar: it stands at `place` byte for byte, behind at most one quotation mark
    std::size_t indent = 0; // scalar: columns from `place` to the first byte of `text` when verbatim
    std::vector<const YamlNode*> items{};
    std::vector<YamlEntry> entries{}; // in the file's order, keys unique; merge keys (`<<`) resolved, last

    const YamlEntry* find(std::string_view key) const;
};

struct YamlMistake {
    Place place{};
    std::string message{};
    std::string hint{};
};

struct YamlDocument {
    const YamlNode* root = nullptr; // null when the text could not be read at all; then there are mistakes
    std::vector<YamlMistake> mistakes{};
    std::deque<YamlNode> nodes{}; // owns the tree; aliases share nodes
};

inline constexpr std::size_t max_yaml_bytes = 1U << 20U;
inline constexpr std::size_t max_yaml_depth = 32;
inline constexpr std::size_t max_yaml_values = 200'000; // with every alias written out

// One document. Refuses what is not UTF-8, control bytes, further documents, tags of other programs and alias
// bombs.
// `more_tags`: of what other program's tags the values are taken, as they stand.
YamlDocument parse_yaml(std::string_view text, std::span<const std::string_view> more_tags = {});

} // namespace dockdist
