#include "shared/core/ustar.hpp"

#include <array>
#include <cstddef>
#include <string_view>

namespace dockdist {
namespace {

constexpr std::size_t ustar_block = 512;

void put_octal(char* field, std::size_t digits, std::uint64_t value) {
    for (auto at = digits; at > 0; --at) {
        field[at - 1] = static_cast<char>('0' + (value & 7U));
        value >>= 3U;
    }
}

// What eleven octal digits do not hold stands there as GNU tar writes it: a bit, and the number in bytes.
void put_size(char* field, std::uint64_t value) {
    constexpr std::uint64_t least = 8ULL << 30U;
    if (value < least) {
        return put_octal(field, 11, value);
    }
    field[0] = '\x80';
    for (std::size_t at = 11; at > 3; --at) {
        field[at] = static_cast<char>(value & 0xFFU);
        value >>= 8U;
    }
}

void put_text(char* field, std::size_t room, std::string_view text) {
    text.copy(field, room);
}

} // namespace

std::string ustar_header(const UstarEntry& entry) {
    constexpr std::size_t mode = 100;
    constexpr std::size_t user = 108;
    constexpr std::size_t group = 116;
    constexpr std::size_t size = 124;
    constexpr std::size_t time = 136;
    constexpr std::size_t checksum = 148;
    constexpr std::size_t type = 156;
    constexpr std::size_t link = 157;
    constexpr std::size_t magic = 257;
    constexpr std::size_t version = 263;
    constexpr std::size_t device_major = 329;
    constexpr std::size_t device_minor = 337;
    std::array<char, ustar_block> bytes{};
    auto* const header = bytes.data();
    const bool is_folder = entry.type == UstarEntry::Type::folder;
    put_text(header, longest_ustar_name, is_folder ? entry.name + "/" : entry.name);
    put_octal(header + mode, 7, entry.mode);
    put_octal(header + user, 7, entry.owner);
    put_octal(header + group, 7, entry.owner);
    put_size(header + size, static_cast<std::uint64_t>(entry.size));
    put_octal(header + time, 11, 0);
    header[type] = is_folder ? '5' : entry.type == UstarEntry::Type::link ? '2' : '0';
    put_text(header + link, longest_ustar_name, entry.link);
    put_text(header + magic, 5, "ustar");
    put_text(header + version, 2, "00");
    put_octal(header + device_major, 7, 0);
    put_octal(header + device_minor, 7, 0);
    put_text(header + checksum, 8, "        "); // counts as blanks
    std::uint64_t sum = 0;
    for (const char byte : bytes) {
        sum += static_cast<unsigned char>(byte);
    }
    put_octal(header + checksum, 6, sum);
    header[checksum + 6] = '\0';
    return {bytes.data(), bytes.size()};
}

std::string ustar_padding(const UstarEntry& entry) {
    const auto over = static_cast<std::size_t>(entry.size) % ustar_block;
    return std::string(over == 0 ? 0 : ustar_block - over, '\0');
}

std::string ustar_end() {
    return std::string(2 * ustar_block, '\0');
}

} // namespace dockdist
