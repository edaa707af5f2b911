// Fields as the ssh protocols write them (RFC 4251, 5): u32 big endian, strings with their length before
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

inline void put_u32(std::string& out, std::uint32_t value) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        out += static_cast<char>(value >> shift & 0xFFU);
    }
}

inline void put_string(std::string& out, std::string_view text) {
    put_u32(out, static_cast<std::uint32_t>(text.size()));
    out += text;
}

// Takes fields off the front; empty when there are too few bytes, and then for good.
class PacketReader {
public:
    explicit PacketReader(std::string_view bytes) : rest_(bytes) {}

    std::optional<std::uint8_t> u8() {
        const auto byte = take(1);
        return byte ? std::optional(static_cast<std::uint8_t>(byte->front())) : std::nullopt;
    }
    std::optional<std::uint32_t> u32() {
        const auto bytes = take(4);
        if (!bytes) {
            return std::nullopt;
        }
        std::uint32_t value = 0;
        for (const char byte : *bytes) {
            value = value << 8U | static_cast<unsigned char>(byte);
        }
        return value;
    }
    std::optional<std::string_view> string() {
        const auto size = u32();
        return size ? take(*size) : std::nullopt;
    }
    std::string_view rest() const { return rest_; }

private:
    std::optional<std::string_view> take(std::size_t count) {
        if (count > rest_.size()) {
            rest_ = {};
            return std::nullopt;
        }
        const auto front = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return front;
    }
    std::string_view rest_;
};

// "ssh-ed25519", the first field of a public key; empty when there is none.
inline std::string_view key_type(std::string_view blob) {
    return PacketReader(blob).string().value_or(std::string_view());
}

// "SHA256:…" of a public key, as ssh-keygen -l shows it.
std::string fingerprint(std::string_view blob);

} // namespace dockdist
