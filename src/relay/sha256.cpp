#include "relay/sha256.hpp"

#include "core/encode.hpp"

#include <openssl/evp.h>

#include <array>

namespace dockdist {

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
    ::EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(::EVP_MD_CTX_new()) {
    ::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr);
}

void Sha256::add(std::string_view bytes) {
    ::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Sha256::digest() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned size = 0;
    ::EVP_DigestFinal_ex(context_.get(), bytes.data(), &size);
    return "sha256:" + to_hex({reinterpret_cast<const char*>(bytes.data()), size});
}

std::string sha256_of(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes);
    return hash.digest();
}

} // namespace dockdist
