#include "client/engine/transport/ssh/signature.hpp"

#include "client/engine/transport/ssh/packet.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace dockdist {

int give_signature(LIBSSH2_SESSION* /*session*/, unsigned char** signature, std::size_t* size,
                   const unsigned char* data, std::size_t data_size, void** self) {
    auto& wanted = *static_cast<Signature*>(*self);
    wanted.data.assign(reinterpret_cast<const char*>(data), data_size);
    if (wanted.refused) {
        return -1;
    }
    if (!wanted.bytes) {
        return LIBSSH2_ERROR_EAGAIN;
    }
    // libssh2 frees it.
    *signature = static_cast<unsigned char*>(std::malloc(std::max<std::size_t>(wanted.bytes->size(), 1)));
    if (*signature == nullptr) {
        return -1;
    }
    std::memcpy(*signature, wanted.bytes->data(), wanted.bytes->size());
    *size = wanted.bytes->size();
    return 0;
}

bool is_rsa(std::string_view blob) {
    return key_type(blob) == "ssh-rsa";
}

bool is_usable(std::string_view blob) {
    const auto type = key_type(blob);
    return type == "ssh-ed25519" || type == "ssh-rsa" || type.starts_with("ecdsa-sha2-nistp");
}

std::string offered_blob(std::string_view blob) {
    if (!is_rsa(blob)) {
        return std::string(blob);
    }
    std::string offered;
    put_string(offered, "rsa-sha2-256");
    return offered + std::string(blob.substr(4 + key_type(blob).size()));
}

} // namespace dockdist
