#include "client/engine/transport/ssh/key_file.hpp"

#include "client/engine/transport/ssh/packet.hpp"
#include "shared/core/encode.hpp"
#include "shared/core/text.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <array>
#include <vector>

namespace dockdist {
namespace {

constexpr std::string_view openssh_begin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view openssh_end = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view openssh_magic{"openssh-key-v1\0", 15};

// What stands between the armour's lines (PROTOCOL.key of OpenSSH).
std::optional<std::string> openssh_body(std::string_view text) {
    const auto begin = text.find(openssh_begin);
    const auto end = text.find(openssh_end);
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
        return std::nullopt;
    }
    std::string base64;
    for (const char c : text.substr(begin + openssh_begin.size(), end - begin - openssh_begin.size())) {
        if (c != '\n' && c != '\r' && c != ' ' && c != '\t') {
            base64 += c;
        }
    }
    auto body = from_base64(base64);
    if (!body || !body->starts_with(openssh_magic)) {
        return std::nullopt;
    }
    return body->substr(openssh_magic.size());
}

struct OpensshKey {
    std::string_view cipher{}, public_blob{}, private_part{};
};

std::optional<OpensshKey> read_openssh(std::string_view body) {
    PacketReader reader(body);
    const auto cipher = reader.string();
    const auto kdf = reader.string();
    const auto kdf_options = reader.string();
    const auto count = reader.u32();
    const auto blob = reader.string();
    const auto private_part = reader.string();
    if (!cipher || !kdf || !kdf_options || count != 1U || !blob || !private_part) {
        return std::nullopt;
    }
    return OpensshKey{*cipher, *blob, *private_part};
}

template <auto release>
struct Release {
    template <class T>
    void operator()(T* pointer) const {
        release(pointer);
    }
};
using Number = std::unique_ptr<BIGNUM, Release<::BN_clear_free>>;
using Key = std::unique_ptr<EVP_PKEY, Release<::EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Release<::EVP_PKEY_CTX_free>>;
using ParamBuild = std::unique_ptr<OSSL_PARAM_BLD, Release<::OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Release<::OSSL_PARAM_free>>;

Number number_of(std::string_view bytes) {
    return Number(::BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                              static_cast<int>(bytes.size()), nullptr));
}

Key rsa_of(OSSL_PARAM_BLD* build) {
    const Params params(::OSSL_PARAM_BLD_to_param(build));
    const KeyContext context(::EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr));
    EVP_PKEY* key = nullptr;
    if (!params || !context || ::EVP_PKEY_fromdata_init(context.get()) != 1 ||
        ::EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, params.get()) != 1) {
        return nullptr;
    }
    return Key(key);
}

// n, e, d, iqmp, p, q; the first three are enough to sign.
Key read_rsa(PacketReader& reader) {
    constexpr std::array<const char*, 3> names{OSSL_PKEY_PARAM_RSA_N, OSSL_PKEY_PARAM_RSA_E,
                                               OSSL_PKEY_PARAM_RSA_D};
    const ParamBuild build(::OSSL_PARAM_BLD_new());
    std::vector<Number> numbers; // until the parameters are made
    for (const auto* name : names) {
        const auto field = reader.string();
        if (!field || field->empty()) {
            return nullptr;
        }
        numbers.push_back(number_of(*field));
        if (::OSSL_PARAM_BLD_push_BN(build.get(), name, numbers.back().get()) != 1) {
            return nullptr;
        }
    }
    return rsa_of(build.get());
}

// The public key, then seed and public key as one.
Key read_ed25519(PacketReader& reader) {
    const auto public_key = reader.string();
    const auto secret = reader.string();
    if (!public_key || public_key->size() != 32 || !secret || secret->size() != 64) {
        return nullptr;
    }
    return Key(::EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                              reinterpret_cast<const unsigned char*>(secret->data()), 32));
}

Key read_openssh_private(std::string_view private_part) {
    PacketReader reader(private_part);
    const auto check = reader.u32();
    if (!check || check != reader.u32()) {
        return nullptr;
    }
    const auto type = reader.string().value_or(std::string_view());
    return type == "ssh-rsa" ? read_rsa(reader) : type == "ssh-ed25519" ? read_ed25519(reader) : nullptr;
}

// Of what stands in a .pub file; empty: something else does.
std::string public_key_in(std::string_view text) {
    const auto words = split(text.substr(0, text.find('\n')), ' ');
    auto blob = words.size() < 2 ? std::nullopt : from_base64(words[1]);
    return blob && key_type(*blob) == words[0] ? std::move(*blob) : std::string();
}

} // namespace

KeyFile inspect_key(std::string private_text, std::string_view public_text) {
    KeyFile file{.text = std::move(private_text)};
    if (const auto body = openssh_body(file.text)) {
        if (const auto key = read_openssh(*body)) {
            file.plain = key->cipher == "none";
            file.blob = std::string(key->public_blob);
        }
        return file;
    }
    file.blob = public_key_in(public_text);
    if (auto named = public_key_in(file.text); !named.empty()) { // the name of a key that an agent has
        file = {.text = "", .blob = std::move(named)};
    }
    return file;
}

std::string short_path(std::string_view path, std::string_view home) {
    if (!home.empty() && path.starts_with(home) && path.substr(home.size()).starts_with('/')) {
        return "~" + std::string(path.substr(home.size()));
    }
    return std::string(path);
}

std::optional<PrivateKey> PrivateKey::read(const KeyFile& file) {
    const auto body = openssh_body(file.text);
    const auto parts = body ? read_openssh(*body) : std::nullopt;
    auto key = parts && parts->cipher == "none" ? read_openssh_private(parts->private_part) : nullptr;
    return key ? std::optional(PrivateKey(std::shared_ptr<EVP_PKEY>(key.release(), ::EVP_PKEY_free)))
               : std::nullopt;
}

std::optional<std::string> PrivateKey::sign(std::string_view data) const {
    const EVP_MD* hash = ::EVP_PKEY_get_base_id(key_.get()) == EVP_PKEY_RSA ? ::EVP_sha256() : nullptr;
    const std::unique_ptr<EVP_MD_CTX, Release<::EVP_MD_CTX_free>> context(::EVP_MD_CTX_new());
    const auto* bytes = reinterpret_cast<const unsigned char*>(data.data());
    std::size_t size = 0;
    if (::EVP_DigestSignInit(context.get(), nullptr, hash, nullptr, key_.get()) != 1 ||
        ::EVP_DigestSign(context.get(), nullptr, &size, bytes, data.size()) != 1) {
        return std::nullopt;
    }
    std::string signature(size, '\0');
    if (::EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes,
                         data.size()) != 1) {
        return std::nullopt;
    }
    signature.resize(size);
    return signature;
}

} // namespace dockdist
