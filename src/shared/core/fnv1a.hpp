// The 64-bit FNV-1a hash of bytes: the same everywhere and in each release. No guard against whoever makes up
// texts that have the same.
#pragma once

#include <cstdint>
#include <string_view>

namespace dockdist {

constexpr std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    }
    return hash;
}

} // namespace dockdist
