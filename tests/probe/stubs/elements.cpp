#include "probe/stubs/elements.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace stub {
namespace {

float from_bf16(const unsigned char* at) {
    std::uint16_t half = 0;
    std::memcpy(&half, at, 2);
    return std::bit_cast<float>(std::uint32_t{half} << 16U);
}

void to_bf16(float value, unsigned char* at) {
    const auto half = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
    std::memcpy(at, &half, 2);
}

} // namespace

std::size_t size_of(int type) {
    return type == 9 ? 2 : type == 7 ? 4 : 8;
}

void add(unsigned char* to, const unsigned char* from, std::size_t bytes, int type, bool least) {
    for (std::size_t i = 0; i < bytes; i += size_of(type)) {
        if (type == 9) {
            to_bf16(from_bf16(to + i) + from_bf16(from + i), to + i);
        } else if (type == 7) {
            float left = 0;
            float right = 0;
            std::memcpy(&left, to + i, 4);
            std::memcpy(&right, from + i, 4);
            left += right;
            std::memcpy(to + i, &left, 4);
        } else {
            std::int64_t left = 0;
            std::int64_t right = 0;
            std::memcpy(&left, to + i, 8);
            std::memcpy(&right, from + i, 8);
            left = least ? std::min(left, right) : left + right;
            std::memcpy(to + i, &left, 8);
        }
    }
}

Fault fault_in(const char* operation) {
    const auto* set = std::getenv("DOCKDIST_STUB_FAULT");
    const std::string text = set == nullptr ? "" : set;
    const auto equals = text.find('=');
    const auto colon = text.find(':');
    if (equals == std::string::npos || text.substr(equals + 1, colon - equals - 1) != operation) {
        return {};
    }
    return {.what = text.substr(0, equals),
            .operation = operation,
            .index = colon == std::string::npos ? 0 : std::strtoul(text.c_str() + colon + 1, nullptr, 10)};
}

void spoil(const Fault& fault, const std::vector<unsigned char>& before, unsigned char* result,
           std::size_t bytes, int type) {
    const auto size = size_of(type);
    if (fault.what == "swap") {
        const auto half = bytes / size / 2 * size;
        std::swap_ranges(result, result + half, result + half);
        return;
    }
    auto* element = result + fault.index * size;
    if (element + size > result + bytes) {
        return;
    }
    if (fault.what == "corrupt" && type == 7) {
        float value = 0;
        std::memcpy(&value, element, 4);
        value += 1;
        std::memcpy(element, &value, 4);
    } else if (fault.what == "corrupt" && type == 9) {
        to_bf16(from_bf16(element) + 1, element);
    } else if (fault.what == "lose") {
        std::memcpy(element, before.data() + fault.index * size, size);
    }
}

} // namespace stub
