#include "shared/core/encode.hpp"
#include "shared/core/text.hpp"
#include "shared/keys/ssh_key.hpp"

#include <doctest/doctest.h>

namespace ssh_key_test {

using namespace dockdist;

namespace {

std::string decoded_file(const SshKey& key) {
    std::string base64;
    for (const auto& line : split(key.private_file, '\n')) {
        CHECK(line.size() <= 70);
        base64 += line.starts_with("-----") ? "" : line;
    }
    return from_base64(base64).value();
}

} // namespace

TEST_CASE("a private key's file holds its public key twice, and ends with a whole block") {
    const auto key = make_ssh_key();
    REQUIRE(key.public_line.starts_with("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA"));
    const auto public_blob = from_base64(key.public_line.substr(12)).value();
    REQUIRE(public_blob.size() == 51);
    const auto file = decoded_file(key);
    CHECK(file.starts_with(std::string("openssh-key-v1\0", 15)));
    const auto first = file.find(public_blob);
    REQUIRE(first != std::string::npos);
    const auto second = file.find(public_blob, first + 51);
    REQUIRE(second != std::string::npos);
    // Behind it the secret key, whose second half is the public one.
    CHECK(file.substr(second + 51 + 4 + 32, 32) == public_blob.substr(19));
    CHECK((file.size() - (first + 51 + 4)) % 8 == 0);
    CHECK(key.private_file.starts_with("-----BEGIN OPENSSH PRIVATE KEY-----\n"));
    CHECK(key.private_file.ends_with("\n-----END OPENSSH PRIVATE KEY-----\n"));
}

TEST_CASE("what is no public line of such a key would add to a file") {
    const auto line = make_ssh_key().public_line;
    CHECK(is_ed25519_key(line));
    for (const auto& text :
         {std::string(), std::string("ssh-ed25519 "), line + "\n", line + " comment", "command=\"x\" " + line,
          std::string("ssh-rsa AAAA"), line + "\n*" + line, "ssh-ed25519 " + std::string(600, 'A')}) {
        CAPTURE(text);
        CHECK_FALSE(is_ed25519_key(text));
    }
}

TEST_CASE("no two keys are alike") {
    CHECK(make_ssh_key().public_line != make_ssh_key().public_line);
}

} // namespace ssh_key_test
