// Integers as the binary messages carry them: the lowest byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dockdist::wire {

template <class Integer>
void put_little_endian(std::string& out, Integer value) {
    auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
        out += static_cast<char>(bits & 0xFFU);
        bits >>= 8U;
    }
}

// Of eight bytes at most.
inline std::uint64_t get_little_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) {
        value = value << 8U | static_cast<unsigned char>(*byte);
    }
    return value;
}

} // namespace dockdist::wire
