#include "engine/transport/ssh/packet.hpp"

#include "core/encode.hpp"
#include "engine/digest.hpp"

namespace dockdist {

std::string fingerprint(std::string_view blob) {
    auto text = to_base64(sha256(blob));
    text.erase(text.find_last_not_of('=') + 1);
    return "SHA256:" + text;
}

} // namespace dockdist
