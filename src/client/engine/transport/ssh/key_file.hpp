// A user's private key in a file, as ssh-keygen writes it today (OpenSSH's PROTOCOL.key).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace dockdist {

struct KeyFile {
    std::string text{}; // the private key's file; empty when only the .pub stands there
    std::string blob{}; // the public key; empty: not known
    bool plain = false; // neither a passphrase nor another form
};

// `private_text` and `public_text` are what stands in PATH and PATH.pub; empty where there is none.
KeyFile inspect_key(std::string private_text, std::string_view public_text);

// "~/.ssh/id_ed25519" for a path below `home`.
std::string short_path(std::string_view path, std::string_view home);

// A key that signs here, by OpenSSL: libssh2's own reading of key files loses memory at each login (1.10),
// and its RSA signatures are SHA-1, which servers refuse.
class PrivateKey {
public:
    // RSA and Ed25519, of a plain file. Empty: it is damaged, or of another kind.
    static std::optional<PrivateKey> read(const KeyFile& file);

    // The bare signature as ssh has it: RSA by SHA-256 (rsa-sha2-256, RFC 8332). Empty when OpenSSL refuses.
    std::optional<std::string> sign(std::string_view data) const;

private:
    explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
    std::shared_ptr<evp_pkey_st> key_;
};

} // namespace dockdist
