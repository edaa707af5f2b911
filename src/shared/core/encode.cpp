#include "shared/core/encode.hpp"

#include <algorithm>
#include <cstdint>

namespace dockdist {
namespace {

constexpr std::string_view first_letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

std::string base64(std::string_view bytes, const char* last_two) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            group = group << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        }
        for (std::size_t k = 0; k < 4; ++k) {
            const auto digit = group >> (18 - 6 * k) & 63U;
            text += i + k > bytes.size() ? '=' : digit < 62 ? first_letters[digit] : last_two[digit - 62];
        }
    }
    return text;
}

} // namespace

bool is_hex(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string to_hex(std::string_view bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    hex.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        hex += digits[byte >> 4U];
        hex += digits[byte & 15U];
    }
    return hex;
}

std::string to_base64(std::string_view bytes) {
    return base64(bytes, "+/");
}

std::string to_base64url(std::string_view bytes) {
    return base64(bytes, "-_");
}

std::optional<std::string> from_base64(std::string_view text) {
    if (text.size() % 4 == 0) {
        for (int padding = 0; padding < 2 && text.ends_with('='); ++padding) {
            text.remove_suffix(1);
        }
    }
    if (text.size() % 4 == 1) {
        return std::nullopt;
    }
    std::string bytes;
    bytes.reserve(text.size() * 3 / 4);
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        const auto letter = first_letters.find(c);
        const auto digit = c == '+' ? 62U : c == '/' ? 63U : static_cast<std::uint32_t>(letter);
        if (digit > 63) {
            return std::nullopt;
        }
        bits = bits << 6U | digit;
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes += static_cast<char>(bits >> held & 0xFFU);
        }
    }
    return bytes;
}

} // namespace dockdist
