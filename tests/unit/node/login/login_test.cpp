#include "node/login/login.hpp"
#include "shared/keys/ssh_key.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace login_test {

using namespace dockdist;
using namespace dockdist::node;

TEST_CASE("the login's sshd lets one key of one user in, and forwards") {
    const auto argv = login_sshd("ssh-ed25519 AAAA", "ada");
    const auto has = [&](const std::string& option) { return std::ranges::find(argv, option) != argv.end(); };
    CHECK(std::vector<std::string>(argv.begin() + 1, argv.begin() + 5) ==
          std::vector<std::string>{"-i", "-e", "-f", "none"});
    CHECK(argv.front().starts_with('/')); // sshd starts itself anew
    CHECK(has("AllowUsers=ada"));
    CHECK(has("AuthorizedKeysFile=none"));
    CHECK(std::ranges::any_of(argv, [](const auto& word) {
        return word.starts_with("AuthorizedKeysCommand=/") && word.ends_with(" login-key ssh-ed25519 AAAA");
    }));
    CHECK(has("AllowTcpForwarding=yes"));
    CHECK(has("GatewayPorts=no"));
    CHECK(has("StreamLocalBindUnlink=yes"));
    CHECK(has("MaxAuthTries=64"));
    CHECK(has("PasswordAuthentication=no"));
}

TEST_CASE("what is no key starts nothing and is let in by nothing") {
    for (const auto* key :
         {"", "ssh-ed25519", "ssh-rsa AAAA", "ssh-ed25519 AAAA\n*", "ssh-ed25519 AA -o PermitTunnel=yes"}) {
        CAPTURE(key);
        CHECK(run_login(key) == 2);
        CHECK(print_login_key(key) == 2);
    }
}

} // namespace login_test
