#include "engine/transport/ssh/packet.hpp"

#include "core/encode.hpp"

#include <openssl/sha.h>

#include <array>

namespace dockdist {

std::string fingerprint(std::string_view blob) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
    ::SHA256(reinterpret_cast<const unsigned char*>(blob.data()), blob.size(), hash.data());
    auto text = to_base64({reinterpret_cast<const char*>(hash.data()), hash.size()});
    text.erase(text.find_last_not_of('=') + 1);
    return "SHA256:" + text;
}

} // namespace dockdist
