#include "engine/transport/ssh/revoked_keys.hpp"

#include "core/text.hpp"
#include "digest/sha256.hpp"
#include "engine/digest.hpp"
#include "engine/transport/ssh/known_hosts.hpp"
#include "engine/transport/ssh/packet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace dockdist {
namespace {

constexpr std::string_view list_magic("SSHKRL\n\0", 8);

// Of plain keys; what is said of certificates says nothing of a key.
enum class Section : std::uint8_t { certificates = 1, keys = 2, sha1 = 3, sha256 = 5 };

// Of certificates of one authority.
enum class Certificates : std::uint8_t { serials = 0x20, range = 0x21, bitmap = 0x22, names = 0x23 };

Error damaged() {
    return {ErrorKind::config, "", "the list of revoked keys cannot be read to its end",
            "make it again: `ssh-keygen -k -f FILE KEY.pub…`"};
}

// `words`: SSH strings, one behind another, each of `size` bytes unless that is 0.
Result<bool> holds(std::string_view words, std::string_view wanted, std::size_t size = 0) {
    bool found = false;
    PacketReader reader(words);
    while (!reader.rest().empty()) {
        const auto word = reader.string();
        if (!word || (size != 0 && word->size() != size)) {
            return damaged();
        }
        found = found || *word == wanted;
    }
    return found;
}

bool is_whole(Certificates part, std::string_view body) {
    constexpr std::size_t number = 8;
    switch (part) {
    case Certificates::serials:
        return body.size() % number == 0;
    case Certificates::range:
        return body.size() == 2 * number;
    case Certificates::bitmap: {
        PacketReader reader(body.substr(std::min(number, body.size())));
        return reader.string() && reader.rest().empty();
    }
    case Certificates::names:
        return holds(body, "").has_value();
    }
    return false;
}

bool are_whole(std::string_view certificates) {
    PacketReader reader(certificates);
    if (!reader.string() || !reader.string()) { // the authority, and a reserved word
        return false;
    }
    while (!reader.rest().empty()) {
        const auto part = reader.u8();
        const auto body = reader.string();
        if (!body || !is_whole(static_cast<Certificates>(*part), *body)) {
            return false;
        }
    }
    return true;
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
    bool revoked = false;
    while (!reader.rest().empty()) { // to the end: what is damaged there makes all of it doubtful
        const auto type = reader.u8();
        const auto body = reader.string();
        if (!body) {
            return damaged();
        }
        Result<bool> found = false;
        switch (static_cast<Section>(*type)) {
        case Section::keys:
            found = holds(*body, key);
            break;
        case Section::sha1:
            found = holds(*body, sha1(key), 20);
            break;
        case Section::sha256:
            found = holds(*body, sha256_bytes(key), 32);
            break;
        case Section::certificates:
            found = are_whole(*body) ? Result<bool>(false) : damaged();
            break;
        default: // a signature: OpenSSH before 9.4 checks it, and so nobody here passes over it
            return damaged();
        }
        if (!found) {
            return found;
        }
        revoked = revoked || *found;
    }
    return revoked;
}

// A whole public key of a type that every OpenSSH knows.
bool is_plain_key(std::string_view type, std::string_view blob) {
    struct Kind {
        std::string_view type;
        int fields; // behind the type
    };
    constexpr std::array<Kind, 7> kinds{{{"ssh-ed25519", 1},
                                         {"ecdsa-sha2-nistp256", 2},
                                         {"ecdsa-sha2-nistp384", 2},
                                         {"ecdsa-sha2-nistp521", 2},
                                         {"ssh-rsa", 2},
                                         {"sk-ssh-ed25519@openssh.com", 2},
                                         {"sk-ecdsa-sha2-nistp256@openssh.com", 3}}};
    const auto* const kind = std::ranges::find(kinds, type, &Kind::type);
    if (kind == kinds.end() || key_type(blob) != type) {
        return false;
    }
    PacketReader reader(blob);
    bool whole = reader.string().has_value();
    for (int field = 0; field < kind->fields; ++field) {
        const auto value = reader.string();
        whole = whole && value && !value->empty() && (type != "ssh-ed25519" || value->size() == 32);
    }
    return whole && reader.rest().empty();
}

} // namespace

// OpenSSH gives up at a line that it cannot read, and refuses the host.
Result<bool> is_revoked_in(std::string_view file, std::string_view key) {
    if (file.starts_with(list_magic)) {
        return is_in_list(file, key);
    }
    bool revoked = false;
    std::size_t number = 0;
    for (const auto& line : split(file, '\n')) {
        ++number;
        const auto words = ssh_words(line);
        if (words.empty() || words.front().starts_with('#')) {
            continue;
        }
        const auto blob = words.size() > 1 ? key_in_base64(words[1]) : std::string();
        if (!is_plain_key(words.front(), blob)) {
            return Error{ErrorKind::config, "",
                         fmt::format("line {} of this list of revoked keys is no plain public key", number),
                         "the file has a public key a line, or is what `ssh-keygen -k` has made"};
        }
        revoked = revoked || blob == key;
    }
    return revoked;
}

} // namespace dockdist
