// A login by a key that libssh2 does not hold: it offers the public key, and asks for a signature.
#pragma once

#include <cstddef>
#include <libssh2.h>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

// What libssh2 asks for in the middle of a login; it is asked again until the signature is there.
struct Signature {
    std::string data{}; // to be signed; not empty: the server takes the key
    std::optional<std::string> bytes{};
    bool refused = false;
};

// libssh2's callback; `self` points to a pointer to a Signature.
int give_signature(LIBSSH2_SESSION* session, unsigned char** signature, std::size_t* size,
                   const unsigned char* data, std::size_t data_size, void** self);

bool is_rsa(std::string_view blob);
// A type that this libssh2 has a signature for.
bool is_usable(std::string_view blob);

// libssh2 names the signature's algorithm after the first field of the key. For RSA that name means SHA-1,
// which OpenSSH refuses since 8.8; with the name of the SHA-2 algorithm in that field OpenSSH reads the same
// key, and takes the signature.
std::string offered_blob(std::string_view blob);

} // namespace dockdist
