// OpenSSL's own words for a hash alone: its newer ones, and SHA256() in one call, bring four megabytes of
// providers into the static programs of the node.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "shared/digest/sha256.hpp"

#include "shared/core/encode.hpp"

#include <openssl/sha.h>

namespace dockdist {

void Sha256::Free::operator()(SHA256state_st* state) const {
    delete state;
}

Sha256::Sha256() : state_(new SHA256_CTX) {
    ::SHA256_Init(state_.get());
}

void Sha256::add(std::string_view bytes) {
    ::SHA256_Update(state_.get(), bytes.data(), bytes.size());
}

std::string Sha256::bytes() {
    std::string bytes(SHA256_DIGEST_LENGTH, '\0');
    ::SHA256_Final(reinterpret_cast<unsigned char*>(bytes.data()), state_.get());
    return bytes;
}

std::string Sha256::hex() {
    return to_hex(bytes());
}

std::string Sha256::digest() {
    return "sha256:" + hex();
}

std::string sha256_bytes(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.bytes();
}

std::string sha256_hex(std::string_view bytes) {
    return to_hex(sha256_bytes(bytes));
}

std::string sha256_of(std::string_view bytes) {
    return "sha256:" + sha256_hex(bytes);
}

} // namespace dockdist
