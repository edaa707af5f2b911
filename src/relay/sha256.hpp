// Digests as registries and engines write them: "sha256:" and 64 hex digits.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st; // OpenSSL's EVP_MD_CTX

namespace dockdist {

class Sha256 {
public:
    Sha256();
    void add(std::string_view bytes);
    std::string digest(); // once, at the end

private:
    struct Free {
        void operator()(evp_md_ctx_st* context) const;
    };
    std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string sha256_of(std::string_view bytes);

} // namespace dockdist
