// An ed25519 key pair as OpenSSH keeps it. Made here and not by ssh-keygen, which takes longer to be loaded
// than all else that a node does before it says hello. The format: OpenSSH's PROTOCOL.key.
#pragma once

#include <string>

namespace dockdist::node {

struct SshKey {
    std::string private_file{}; // without a passphrase
    std::string public_line{};  // "ssh-ed25519 AAAA…", without comment and '\n'
};
SshKey make_ssh_key();

} // namespace dockdist::node
