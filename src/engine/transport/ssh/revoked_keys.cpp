#include "engine/transport/ssh/revoked_keys.hpp"

#include "core/encode.hpp"
#include "core/text.hpp"
#include "digest/sha256.hpp"
#include "engine/digest.hpp"
#include "engine/transport/ssh/packet.hpp"

#include <algorithm>
#include <string>

namespace dockdist {
namespace {

constexpr std::string_view list_magic("SSHKRL\n\0", 8);

// Those of plain keys; what is said of certificates says nothing of a key.
enum class Section : std::uint8_t {
    certificates = 1,
    keys = 2,
    sha1 = 3,
    signature = 4,
    sha256 = 5,
    extension = 255
};

Error damaged() {
    return {ErrorKind::config, "", "the list of revoked keys cannot be read to its end",
            "make it anew: `ssh-keygen -k -f FILE KEY.pub…`"};
}

// `words`: SSH strings, one behind another.
Result<bool> holds(std::string_view words, std::string_view wanted) {
    bool found = false;
    PacketReader reader(words);
    while (!reader.rest().empty()) {
        const auto word = reader.string();
        if (!word) {
            return damaged();
        }
        found = found || *word == wanted;
    }
    return found;
}

Result<bool> is_in_list(std::string_view file, std::string_view key) {
    constexpr std::size_t numbers = 3 * 8; // the list's version, its date, flags
    PacketReader header(file.substr(list_magic.size()));
    const auto format = header.u32();
    if (format != 1U || header.rest().size() < numbers) {
        return damaged();
    }
    PacketReader reader(header.rest().substr(numbers));
    const auto reserved = reader.string();
    const auto comment = reader.string();
    if (!reserved || !comment) {
        return damaged();
    }
    while (!reader.rest().empty()) {
        const auto type = reader.u8();
        const auto body = reader.string();
        if (!type || !body) {
            return damaged();
        }
        Result<bool> found = false;
        switch (static_cast<Section>(*type)) {
        case Section::keys:
            found = holds(*body, key);
            break;
        case Section::sha1:
            found = holds(*body, sha1(key));
            break;
        case Section::sha256:
            found = holds(*body, sha256_bytes(key));
            break;
        case Section::signature: // of the key that `body` names; nobody says whose it must be
            if (!reader.string()) {
                return damaged();
            }
            break;
        case Section::certificates:
        case Section::extension:
            break;
        default:
            return damaged();
        }
        if (!found || *found) {
            return found;
        }
    }
    return false;
}

} // namespace

Result<bool> is_revoked_in(std::string_view file, std::string_view key) {
    if (file.starts_with(list_magic)) {
        return is_in_list(file, key);
    }
    for (const auto& line : split(file, '\n')) {
        if (line.find_first_not_of(" \t\r") == line.find('#') && line.find('#') != std::string::npos) {
            continue;
        }
        for (const auto& word : split(line, ' ')) {
            std::string bare = word;
            std::erase_if(bare, [](char c) { return c == '\r' || c == '\t'; });
            if (from_base64(bare) == key) {
                return true;
            }
        }
    }
    return false;
}

} // namespace dockdist
