// Reads what Python's `pickle` and torch's own pickler write of plain values, protocols 0 to 5: dictionaries,
// lists, tuples, strings, numbers, None. Nothing is run: an opcode that names a class or calls one is an
// error. Pure. Source: CPython's Lib/pickletools.py; torch/csrc/jit/serialization/pickler.cpp.
//
// A value may stand at several places, or in itself, so who walks through one bounds how deep.
#pragma once

#include "shared/core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace dockdist {

class PickleValue;

class Pickle {
public:
    static constexpr std::size_t most_bytes = 64U << 20U;
    static constexpr std::size_t most_values = 2U << 20U;

    // The strings are not copied: `bytes` outlives it. Errors: protocol.
    static Result<Pickle> read(std::string_view bytes);
    PickleValue root() const;

private:
    friend class PickleReader;
    friend class PickleValue;
    enum class Kind : std::uint8_t { none, boolean, integer, real, text, list, dictionary };
    struct Node {
        Kind kind = Kind::none;
        std::int64_t integer = 0;
        double real = 0;
        std::string_view text{};
        std::vector<std::uint32_t> items{}; // of a list or tuple; key, value, key, … of a dictionary
    };
    std::vector<Node> nodes_{};
    std::uint32_t root_ = 0;
};

// Whatever is not there, or is of another kind, is empty.
class PickleValue {
public:
    bool is_text() const { return node().kind == Pickle::Kind::text; }
    bool is_integer() const { return node().kind == Pickle::Kind::integer; }
    std::string_view text() const { return node().text; }
    std::int64_t integer(std::int64_t otherwise = 0) const {
        return is_integer() ? node().integer : otherwise;
    }
    bool is_true() const { return node().kind == Pickle::Kind::boolean && node().integer != 0; }
    bool is_dictionary() const { return node().kind == Pickle::Kind::dictionary; }

    std::size_t size() const; // of a list or tuple; pairs of a dictionary
    PickleValue at(std::size_t index) const;
    PickleValue key(std::size_t index) const; // of the dictionary's pairs
    PickleValue value(std::size_t index) const;
    PickleValue operator[](std::string_view key) const; // the last one of that name, as Python has it

private:
    friend class Pickle;
    PickleValue(const Pickle& pickle, const Pickle::Node& node) : pickle_(&pickle), node_(&node) {}
    const Pickle::Node& node() const { return *node_; }
    PickleValue of(const std::vector<std::uint32_t>& items, std::size_t index) const;

    const Pickle* pickle_;
    const Pickle::Node* node_;
};

} // namespace dockdist
