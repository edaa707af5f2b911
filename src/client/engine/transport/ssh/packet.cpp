#include "client/engine/transport/ssh/packet.hpp"

#include "shared/core/encode.hpp"
#include "shared/digest/sha256.hpp"

namespace dockdist {

std::string fingerprint(std::string_view blob) {
    auto text = to_base64(sha256_bytes(blob));
    text.erase(text.find_last_not_of('=') + 1);
    return "SHA256:" + text;
}

} // namespace dockdist
