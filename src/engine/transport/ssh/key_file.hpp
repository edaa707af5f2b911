// A user's private key, as ssh-keygen and OpenSSL write them.
#pragma once

#include "core/result.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace dockdist {

struct KeyFile {
    enum class Form { openssh, pem, unknown };
    std::string path{};
    std::string text{}; // the private key's file; empty when only the .pub stands there
    Form form = Form::unknown;
    std::string blob{}; // the public key; empty: not known before the private one is read
    bool encrypted = false;
};

// `private_text` and `public_text` are what stands in PATH and PATH.pub; empty where there is none.
KeyFile inspect_key(const std::string& path, std::string private_text, std::string_view public_text);

// "~/.ssh/id_ed25519" for a path below `home`.
std::string short_path(std::string_view path, std::string_view home);

// A key that signs here, by OpenSSL: libssh2's own reading of key files loses memory at each login (1.10),
// and its RSA signatures are SHA-1, which servers refuse.
class PrivateKey {
public:
    // RSA, ECDSA on the NIST curves, and Ed25519. Errors: config. A PEM key may have a passphrase; of
    // OpenSSH's own form only keys without one can be read (its key derivation, bcrypt, is not OpenSSL's).
    static Result<PrivateKey> read(const KeyFile& file, const std::string& passphrase);

    // The public key.
    const std::string& blob() const { return blob_; }
    // The bare signature as ssh has it: RSA by SHA-256 (rsa-sha2-256, RFC 8332), r and s for ECDSA (RFC
    // 5656). Empty when OpenSSL refuses.
    std::optional<std::string> sign(std::string_view data) const;

    PrivateKey() = default; // Result wants it

private:
    std::shared_ptr<evp_pkey_st> key_{};
    std::string blob_{};
};

} // namespace dockdist
