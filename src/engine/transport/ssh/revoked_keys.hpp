// RevokedHostKeys of ssh_config(5): keys that no host may show, as public keys, a line each, or as a list
// that `ssh-keygen -k` has made (OpenSSH's PROTOCOL.krl).
#pragma once

#include "core/result.hpp"

#include <string_view>

namespace dockdist {

// `file`: its content. `key`: a plain public key. Errors, without `where`: config, a list that cannot be
// read, which then may hold any key.
Result<bool> is_revoked_in(std::string_view file, std::string_view key);

} // namespace dockdist
