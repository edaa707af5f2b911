#include "client/sync/git_index.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dockdist {
namespace {

constexpr std::size_t header_bytes = 12;      // "DIRC", version, number of entries
constexpr std::size_t stat_bytes = 40;        // times, device, inode, mode, owner, size
constexpr std::size_t mode_at = 24;           // of these
constexpr std::uint32_t folder_mode = 040000; // a sparse checkout's: nothing of it is in the work tree
constexpr std::uint32_t extended = 0x4000;
constexpr std::size_t longest_name = 4096;
constexpr std::size_t most_bytes = std::size_t{256} << 20U; // of all names

class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}

    std::size_t at() const { return at_; }
    bool has(std::size_t count) const { return bytes_.size() - at_ >= count; }
    void skip(std::size_t count) { at_ += count; }
    std::uint32_t number(std::size_t count) { // big-endian
        std::uint32_t value = 0;
        for (; count > 0; --count) {
            value = value << 8U | static_cast<unsigned char>(bytes_[at_++]);
        }
        return value;
    }
    // Up to a NUL, which is passed over.
    std::optional<std::string_view> text() {
        const auto end = bytes_.find('\0', at_);
        if (end == std::string_view::npos) {
            return std::nullopt;
        }
        const auto found = bytes_.substr(at_, end - at_);
        at_ = end + 1;
        return found;
    }
    // A number as packs have offsets: seven bits a byte, each further one counted from one on.
    std::optional<std::size_t> offset() {
        std::size_t value = 0;
        for (int count = 0; count < 5 && has(1); ++count) {
            const auto byte = number(1);
            value += byte & 0x7FU;
            if ((byte & 0x80U) == 0) {
                return value;
            }
            value = (value + 1) << 7U;
        }
        return std::nullopt;
    }

private:
    std::string_view bytes_;
    std::size_t at_ = 0;
};

// What stands behind the entries: extensions, each with a name and a size, and the sum.
bool ends_well(Reader reader, std::size_t hash_bytes, std::size_t whole) {
    constexpr std::uint32_t link =
        0x6C696E6B; // the entries are in another file, and these are changes to them
    while (whole - reader.at() > hash_bytes) {
        if (!reader.has(8) || reader.number(4) == link) {
            return false;
        }
        const auto size = reader.number(4);
        if (!reader.has(size)) {
            return false;
        }
        reader.skip(size);
    }
    return whole - reader.at() == hash_bytes;
}

std::optional<std::vector<std::string>> read(std::string_view index, std::size_t hash_bytes) {
    Reader reader(index);
    if (!reader.has(header_bytes) || !index.starts_with("DIRC")) {
        return std::nullopt;
    }
    reader.skip(4);
    const auto version = reader.number(4);
    if (version < 2 || version > 4) {
        return std::nullopt;
    }
    std::vector<std::string> names;
    std::string name;
    std::size_t bytes = 0;
    for (auto left = reader.number(4); left > 0; --left) {
        const auto begin = reader.at();
        if (!reader.has(stat_bytes + hash_bytes + 2)) {
            return std::nullopt;
        }
        reader.skip(mode_at);
        const auto mode = reader.number(4);
        reader.skip(stat_bytes - mode_at - 4 + hash_bytes);
        const bool more = (reader.number(2) & extended) != 0;
        if (more && (version < 3 || !reader.has(2))) {
            return std::nullopt;
        }
        reader.skip(more ? 2 : 0);
        std::size_t cut = name.size();
        if (version == 4) {
            const auto from_end = reader.offset();
            if (!from_end || *from_end > name.size()) {
                return std::nullopt;
            }
            cut = *from_end;
        }
        const auto rest = reader.text();
        if (!rest) {
            return std::nullopt;
        }
        name.resize(name.size() - cut);
        name += *rest;
        bytes += name.size();
        if (name.size() > longest_name || bytes > most_bytes) { // version 4 makes much of little
            return std::nullopt;
        }
        if (version < 4) { // NULs up to a multiple of eight; the name's own is one of them
            const auto padding = (8 - (reader.at() - begin) % 8) % 8;
            if (!reader.has(padding)) {
                return std::nullopt;
            }
            reader.skip(padding);
        }
        if (mode != folder_mode && !name.empty()) {
            names.push_back(name);
        }
    }
    if (!ends_well(reader, hash_bytes, index.size())) {
        return std::nullopt;
    }
    std::ranges::sort(names);                      // they are, but for what somebody else has written
    const auto again = std::ranges::unique(names); // of a merge's stages
    names.erase(again.begin(), again.end());
    return names;
}

} // namespace

std::optional<std::vector<std::string>> tracked_names(std::string_view index) {
    constexpr std::size_t sha1_bytes = 20, sha256_bytes = 32;
    auto names = read(index, sha1_bytes);
    return names ? names : read(index, sha256_bytes);
}

} // namespace dockdist
