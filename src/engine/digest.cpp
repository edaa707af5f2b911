#include "engine/digest.hpp"

#include <openssl/sha.h>

namespace dockdist {
namespace {

using Digest = unsigned char*(const unsigned char*, std::size_t, unsigned char*);

std::string digest_of(std::string_view bytes, std::size_t size, Digest* digest) {
    std::string hash(size, '\0');
    digest(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
           reinterpret_cast<unsigned char*>(hash.data()));
    return hash;
}

} // namespace

std::string sha1(std::string_view bytes) {
    return digest_of(bytes, SHA_DIGEST_LENGTH, &::SHA1);
}

std::string sha256(std::string_view bytes) {
    return digest_of(bytes, SHA256_DIGEST_LENGTH, &::SHA256);
}

} // namespace dockdist
