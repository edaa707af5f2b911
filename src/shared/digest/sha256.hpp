// SHA-256, for client and node alike.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct SHA256state_st; // OpenSSL's SHA256_CTX

namespace dockdist {

class Sha256 {
public:
    Sha256();
    void add(std::string_view bytes);
    // One of these, once, at the end.
    std::string bytes();  // 32
    std::string hex();    // 64 digits
    std::string digest(); // as registries and engines write it: "sha256:" and 64 hex digits

private:
    struct Free {
        void operator()(SHA256state_st* state) const;
    };
    std::unique_ptr<SHA256state_st, Free> state_;
};

// Of bytes that are there as a whole.
std::string sha256_bytes(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);
std::string sha256_of(std::string_view bytes); // "sha256:…"

} // namespace dockdist
