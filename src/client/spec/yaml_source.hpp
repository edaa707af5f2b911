// The text of a YAML file before it is parsed: whether it can be read at all, and where a byte of it stands.
#pragma once

#include "client/spec/yaml_tree.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace dockdist {

class YamlSource {
public:
    // Drops a byte order mark. `text` has to outlive the object.
    explicit YamlSource(std::string_view text);

    std::string_view text() const { return text_; }

    // What keeps the text from being parsed: its size, its encoding, a control byte, nothing in it.
    std::optional<YamlMistake> obstacle() const;

    // `line` from 0, `byte` the offset in that line: yaml-cpp's way of counting.
    Place place(int line, int byte) const;
    Place place(std::size_t offset) const;
    std::string_view line(int number) const; // from 0; empty when there is none

private:
    std::string_view text_;
    std::vector<std::size_t> line_starts_;
    mutable std::size_t last_offset_ = 0;
    mutable int last_column_ = 1;
};

} // namespace dockdist
