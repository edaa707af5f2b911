#include "core/encode.hpp"
#include "engine/transport/ssh/revoked_keys.hpp"

#include <doctest/doctest.h>

namespace revoked_keys_test {

using namespace dockdist;

namespace {

std::string bytes(std::string_view base64) {
    return *from_base64(base64);
}

const std::string by_key = bytes("AAAAC3NzaC1lZDI1NTE5AAAAILjxXAEygNGRQ8bYU6Ftk8+c4nwxp1Ztc6MmTfL7uqSC");
const std::string by_sha1 = bytes("AAAAC3NzaC1lZDI1NTE5AAAAIJNCwb7Uo1h/MIWend1rTKtGYgcYQTSp+CXd0xrbXs3a");
const std::string by_sha256 = bytes("AAAAC3NzaC1lZDI1NTE5AAAAIJj5geKdvq/8FERMW20zV3SR2noONYfuXlbk1lMNhQKf");
const std::string good = bytes("AAAAC3NzaC1lZDI1NTE5AAAAINhlrmR7Bg7uF5rpHKpiPfMw4/L6TvdD8LhSRyKOiyXk");

// What `ssh-keygen -k -s ca.pub` (OpenSSH 9.2) has made of a serial number of a certificate, a key, a key's
// SHA-1 and a key's SHA-256. `ssh-keygen -Q` says of the four keys above: revoked, revoked, revoked, ok.
const std::string list =
    bytes("U1NIS1JMCgAAAAABAAAAAAAAAAAAAAAAawMFcAAAAAAAAAAAAAAAAAAAAAABAAAASAAAADMAAAALc3NoLWVkMjU1MTkA"
          "AAAgT+kT+u2NyN2B6Y4C/7fPltR8/EaOxopm09QzMpFrhqEAAAAAIAAAAAgAAAAAAAAABQIAAAA3AAAAMwAAAAtzc2gt"
          "ZWQyNTUxOQAAACC48VwBMoDRkUPG2FOhbZPPnOJ8MadWbXOjJk3y+7qkggMAAAAYAAAAFKZO4vyTi3rwVY4/QzHL9Q0A"
          "eUZZBQAAACQAAAAg7InxBmozvWLuvF1iADBMykk3cJquodVgDU6TbqAurHA=");

bool is_revoked(std::string_view file, std::string_view key) {
    return *is_revoked_in(file, key);
}

} // namespace

TEST_CASE("a list of ssh-keygen's revokes keys, and what their hashes name") {
    CHECK(is_revoked(list, by_key));
    CHECK(is_revoked(list, by_sha1));
    CHECK(is_revoked(list, by_sha256));
    CHECK_FALSE(is_revoked(list, good));
}

TEST_CASE("a file of public keys revokes them, whatever stands around") {
    const std::string file = "# gone\n\n ssh-ed25519 " + to_base64(by_key) + " host-1\r\n" + "ssh-ed25519 " +
                             to_base64(by_sha1) + "\n# ssh-ed25519 " + to_base64(good) + "\n";
    CHECK(is_revoked(file, by_key));
    CHECK(is_revoked(file, by_sha1));
    CHECK_FALSE(is_revoked(file, good));
    CHECK_FALSE(is_revoked("", good));
}

TEST_CASE("a list that was cut off or changed says so, whatever it has said before") {
    int whole = 0;
    for (std::size_t size = 8; size < list.size(); ++size) {
        whole += is_revoked_in(std::string_view(list).substr(0, size), by_sha256) ? 1 : 0;
    }
    CHECK(whole == 4); // between two of its parts a list may end
    CHECK(is_revoked_in(std::string_view(list).substr(0, list.size() - 1), by_key).has_error());
    auto other = list;
    other[11] = 2; // the format
    CHECK(is_revoked_in(other, good).error().kind == ErrorKind::config);
    other = list + '\x09' + std::string(4, '\0'); // a section that nobody knows
    CHECK_FALSE(is_revoked_in(other, good));
}

} // namespace revoked_keys_test
