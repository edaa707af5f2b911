// An ed25519 key pair as OpenSSH keeps it, for client and node alike. Made here and not by ssh-keygen, which
// takes longer to be loaded than all else that a node does before it says hello, and which a client may not
// have. The format: OpenSSH's PROTOCOL.key.
#pragma once

#include <string>
#include <string_view>

namespace dockdist {

struct SshKey {
    std::string private_file{}; // without a passphrase
    std::string public_line{};  // "ssh-ed25519 AAAA…", without comment and '\n'
};
SshKey make_ssh_key();

// Whether a text is such a public line: what comes from elsewhere adds no line and no option to a file that
// holds keys.
bool is_ed25519_key(std::string_view line);

} // namespace dockdist
