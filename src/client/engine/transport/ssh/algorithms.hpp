// The algorithms that the user's ssh configuration allows, and libssh2 held to them.
#pragma once

#include "shared/core/result.hpp"

#include <libssh2.h>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// Names as ssh has them, the best first. The defaults are OpenSSH's, without those that libssh2 has never
// had, for a machine that has no ssh.
struct SshAlgorithms {
    std::vector<std::string> key_exchange{"curve25519-sha256",
                                          "curve25519-sha256@libssh.org",
                                          "ecdh-sha2-nistp256",
                                          "ecdh-sha2-nistp384",
                                          "ecdh-sha2-nistp521",
                                          "diffie-hellman-group-exchange-sha256",
                                          "diffie-hellman-group16-sha512",
                                          "diffie-hellman-group18-sha512",
                                          "diffie-hellman-group14-sha256"};
    std::vector<std::string> ciphers{"aes128-ctr", "aes192-ctr", "aes256-ctr", "aes128-gcm@openssh.com",
                                     "aes256-gcm@openssh.com"};
    std::vector<std::string> macs{"hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com",
                                  "hmac-sha2-256", "hmac-sha2-512", "hmac-sha1"};
    std::vector<std::string> host_keys{"ssh-ed25519",         "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                                       "ecdsa-sha2-nistp521", "rsa-sha2-512",        "rsa-sha2-256"};
    std::vector<std::string> user_keys{host_keys};
    int rsa_bits = 1024; // at least
    bool operator==(const SshAlgorithms&) const = default;
};

// "ciphers aes256-gcm@openssh.com": a keyword of whose names libssh2 has none; empty: it has some of each.
std::string lacking(const SshAlgorithms& allowed);

// Lets `session` agree to nothing else. Of the host's keys, types that are `known` come first: a server with
// several keys then shows the one that can be checked. Errors, without `where`: config.
Status hold_to(LIBSSH2_SESSION* session, const SshAlgorithms& allowed, const std::vector<std::string>& known);

// Whether the user's key `blob` may be used to log in, in the one way that dockdist signs with it. Why not;
// empty: it may.
std::string why_not_offered(std::string_view blob, const SshAlgorithms& allowed);
// Of an RSA key's modulus; for other keys that is no question.
bool is_too_short(std::string_view blob, const SshAlgorithms& allowed);

std::string libssh2_name(); // "libssh2 1.10.0"

} // namespace dockdist
