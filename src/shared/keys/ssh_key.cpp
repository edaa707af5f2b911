#include "shared/keys/ssh_key.hpp"

#include "shared/core/encode.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <sodium.h>
#include <string_view>

namespace dockdist {
namespace {

constexpr std::string_view key_type = "ssh-ed25519";
constexpr std::size_t key_file_width = 70;
constexpr std::size_t block_size = 8; // of the cipher "none"

std::string big_endian(std::uint32_t number) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) {
        bytes += static_cast<char>(number >> static_cast<unsigned>(shift) & 0xFFU);
    }
    return bytes;
}

std::string ssh_string(std::string_view bytes) {
    return big_endian(static_cast<std::uint32_t>(bytes.size())) + std::string(bytes);
}

} // namespace

SshKey make_ssh_key() {
    static const int begun = ::sodium_init();
    if (begun < 0) {
        std::abort(); // no randomness, no key
    }
    std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> public_part{};
    std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret_part{};
    ::crypto_sign_keypair(public_part.data(), secret_part.data());
    const std::string own(reinterpret_cast<const char*>(public_part.data()), public_part.size());
    std::string secret(reinterpret_cast<const char*>(secret_part.data()), secret_part.size());
    const auto public_blob = ssh_string(key_type) + ssh_string(own);
    const auto check = big_endian(::randombytes_random()); // twice: a wrong passphrase would make them differ
    auto private_blob = check + check + public_blob + ssh_string(secret) + ssh_string("");
    for (char pad = 1; private_blob.size() % block_size != 0; ++pad) {
        private_blob += pad;
    }
    auto text =
        to_base64(std::string("openssh-key-v1\0", 15) + ssh_string("none") + ssh_string("none") +
                  ssh_string("") + big_endian(1) + ssh_string(public_blob) + ssh_string(private_blob));
    SshKey key{.private_file = "-----BEGIN OPENSSH PRIVATE KEY-----\n",
               .public_line = std::string(key_type) + " " + to_base64(public_blob)};
    for (std::size_t begin = 0; begin < text.size(); begin += key_file_width) {
        key.private_file += text.substr(begin, key_file_width) + "\n";
    }
    key.private_file += "-----END OPENSSH PRIVATE KEY-----\n";
    return key;
}

bool is_ed25519_key(std::string_view line) {
    constexpr std::string_view type = "ssh-ed25519 ";
    return line.starts_with(type) && line.size() > type.size() && line.size() < 512 &&
           std::ranges::all_of(
               line.substr(type.size()),
               [](char c) {
                   return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          c == '+' || c == '/' || c == '=';
               });
}

} // namespace dockdist
