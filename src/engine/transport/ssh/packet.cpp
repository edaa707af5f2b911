#include "engine/transport/ssh/packet.hpp"

#include <openssl/sha.h>

#include <array>

namespace dockdist {
namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string encode_base64_bare(std::string_view bytes) {
    std::string text;
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char byte : bytes) {
        bits = bits << 8U | static_cast<unsigned char>(byte);
        for (held += 8; held >= 6; held -= 6) {
            text += digits[bits >> (held - 6) & 0x3FU];
        }
    }
    if (held > 0) {
        text += digits[bits << (6 - held) & 0x3FU];
    }
    return text;
}

} // namespace

std::optional<std::string> decode_base64(std::string_view text) {
    while (text.ends_with('=')) {
        text.remove_suffix(1);
    }
    if (text.size() % 4 == 1) {
        return std::nullopt;
    }
    std::string bytes;
    std::uint32_t bits = 0;
    unsigned held = 0;
    for (const char c : text) {
        const auto digit = digits.find(c);
        if (digit == std::string_view::npos) {
            return std::nullopt;
        }
        bits = bits << 6U | static_cast<std::uint32_t>(digit);
        held += 6;
        if (held >= 8) {
            held -= 8;
            bytes += static_cast<char>(bits >> held & 0xFFU);
        }
    }
    return bytes;
}

std::string fingerprint(std::string_view blob) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
    ::SHA256(reinterpret_cast<const unsigned char*>(blob.data()), blob.size(), hash.data());
    return "SHA256:" + encode_base64_bare({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

} // namespace dockdist
