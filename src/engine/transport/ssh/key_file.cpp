#include "engine/transport/ssh/key_file.hpp"

#include "core/encode.hpp"
#include "core/text.hpp"
#include "engine/transport/ssh/packet.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#include <algorithm>
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

Error unusable(const KeyFile& file, std::string what, std::string hint) {
    return {ErrorKind::config, "", fmt::format("the key {}: {}", printable(file.path), what),
            std::move(hint)};
}

template <auto release>
struct Release {
    template <class T>
    void operator()(T* pointer) const {
        release(pointer);
    }
};
using Number = std::unique_ptr<BIGNUM, Release<::BN_clear_free>>;
using Bio = std::unique_ptr<BIO, Release<::BIO_free>>;
using Key = std::unique_ptr<EVP_PKEY, Release<::EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Release<::EVP_PKEY_CTX_free>>;
using ParamBuild = std::unique_ptr<OSSL_PARAM_BLD, Release<::OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Release<::OSSL_PARAM_free>>;

Number number_of(std::string_view bytes) {
    return Number(::BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                              static_cast<int>(bytes.size()), nullptr));
}

struct Curve {
    std::string_view ssh;    // in key types
    const char* openssl;     // its group
    const EVP_MD* (*hash)(); // RFC 5656, 6.2.1
};
constexpr std::array<Curve, 3> curves{{
    {"nistp256", "prime256v1", ::EVP_sha256},
    {"nistp384", "secp384r1", ::EVP_sha384},
    {"nistp521", "secp521r1", ::EVP_sha512},
}};

Key key_of(const char* kind, OSSL_PARAM_BLD* build) {
    const Params params(::OSSL_PARAM_BLD_to_param(build));
    const KeyContext context(::EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
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
        ::OSSL_PARAM_BLD_push_BN(build.get(), name, numbers.back().get());
    }
    return key_of("RSA", build.get());
}

// The curve's name, the public point, the private number.
Key read_ecdsa(PacketReader& reader) {
    const auto name = reader.string();
    const auto point = reader.string();
    const auto field = reader.string();
    const auto* const curve = std::ranges::find(curves, name.value_or(std::string_view()), &Curve::ssh);
    if (curve == curves.end() || !point || !field) {
        return nullptr;
    }
    const auto number = number_of(*field);
    const ParamBuild build(::OSSL_PARAM_BLD_new());
    ::OSSL_PARAM_BLD_push_utf8_string(build.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve->openssl, 0);
    ::OSSL_PARAM_BLD_push_octet_string(build.get(), OSSL_PKEY_PARAM_PUB_KEY, point->data(), point->size());
    ::OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_PRIV_KEY, number.get());
    return key_of("EC", build.get());
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
    return type == "ssh-rsa"                     ? read_rsa(reader)
           : type == "ssh-ed25519"               ? read_ed25519(reader)
           : type.starts_with("ecdsa-sha2-nist") ? read_ecdsa(reader)
                                                 : nullptr;
}

int give_passphrase(char* buffer, int size, int /*writing*/, void* passphrase) {
    const auto& text = *static_cast<const std::string*>(passphrase);
    const auto count = std::min(text.size(), static_cast<std::size_t>(size));
    text.copy(buffer, count);
    return static_cast<int>(count);
}

Key read_pem(const std::string& text, std::string passphrase) {
    const Bio bio(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    return Key(::PEM_read_bio_PrivateKey(bio.get(), nullptr, give_passphrase, &passphrase));
}

// mpint: a leading zero only where the number would look negative.
void put_number(std::string& out, const BIGNUM* number) {
    std::string bytes(1 + static_cast<std::size_t>(BN_num_bytes(number)), '\0');
    ::BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data() + 1));
    const bool keep_zero = bytes.size() > 1 && (static_cast<unsigned char>(bytes[1]) & 0x80U) != 0;
    put_string(out, std::string_view(bytes).substr(keep_zero ? 0 : 1));
}

void put_number(std::string& out, EVP_PKEY* key, const char* name) {
    BIGNUM* raw = nullptr;
    ::EVP_PKEY_get_bn_param(key, name, &raw);
    const Number number(raw);
    put_number(out, raw);
}

const Curve* curve_of(EVP_PKEY* key) {
    std::array<char, 64> group{};
    std::size_t size = 0;
    if (::EVP_PKEY_get_group_name(key, group.data(), group.size(), &size) != 1) {
        return nullptr;
    }
    const auto* const found =
        std::ranges::find(curves, std::string_view(group.data(), size), &Curve::openssl);
    return found == curves.end() ? nullptr : found;
}

// Empty for a kind that ssh does not know.
std::string public_blob(EVP_PKEY* key) {
    std::string blob;
    std::array<unsigned char, 256> bytes{};
    std::size_t size = bytes.size();
    const auto view = [&] { return std::string_view(reinterpret_cast<const char*>(bytes.data()), size); };
    switch (::EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
        put_string(blob, "ssh-rsa");
        put_number(blob, key, OSSL_PKEY_PARAM_RSA_E);
        put_number(blob, key, OSSL_PKEY_PARAM_RSA_N);
        break;
    case EVP_PKEY_ED25519:
        if (::EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) == 1) {
            put_string(blob, "ssh-ed25519");
            put_string(blob, view());
        }
        break;
    case EVP_PKEY_EC:
        if (const auto* curve = curve_of(key);
            curve != nullptr && ::EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, bytes.data(),
                                                                  bytes.size(), &size) == 1) {
            put_string(blob, fmt::format("ecdsa-sha2-{}", curve->ssh));
            put_string(blob, curve->ssh);
            put_string(blob, view());
        }
        break;
    default:
        break;
    }
    return blob;
}

// From OpenSSL's DER to the two numbers.
std::optional<std::string> ecdsa_numbers(std::string_view der) {
    const auto* begin = reinterpret_cast<const unsigned char*>(der.data());
    const std::unique_ptr<ECDSA_SIG, Release<::ECDSA_SIG_free>> signature(
        ::d2i_ECDSA_SIG(nullptr, &begin, static_cast<long>(der.size())));
    if (!signature) {
        return std::nullopt;
    }
    std::string numbers;
    put_number(numbers, ::ECDSA_SIG_get0_r(signature.get()));
    put_number(numbers, ::ECDSA_SIG_get0_s(signature.get()));
    return numbers;
}

} // namespace

KeyFile inspect_key(const std::string& path, std::string private_text, std::string_view public_text) {
    KeyFile file;
    file.path = path;
    file.text = std::move(private_text);
    if (const auto body = openssh_body(file.text)) {
        if (const auto key = read_openssh(*body)) {
            file.form = KeyFile::Form::openssh;
            file.encrypted = key->cipher != "none";
            file.blob = std::string(key->public_blob);
        }
        return file;
    }
    if (file.text.find("-----BEGIN ") != std::string::npos &&
        file.text.find("PRIVATE KEY-----") != std::string::npos) {
        file.form = KeyFile::Form::pem;
        file.encrypted = file.text.find("ENCRYPTED") != std::string::npos;
    }
    const auto words = split(public_text.substr(0, public_text.find('\n')), ' ');
    if (words.size() >= 2) {
        auto blob = from_base64(words[1]);
        if (blob && key_type(*blob) == words[0]) {
            file.blob = std::move(*blob);
        }
    }
    return file;
}

std::string short_path(std::string_view path, std::string_view home) {
    if (!home.empty() && path.starts_with(home) && path.substr(home.size()).starts_with('/')) {
        return "~" + std::string(path.substr(home.size()));
    }
    return std::string(path);
}

Result<PrivateKey> PrivateKey::read(const KeyFile& file, const std::string& passphrase) {
    Key key;
    if (file.form == KeyFile::Form::openssh) {
        if (file.encrypted) {
            return unusable(file, "with a passphrase and in OpenSSH's form, which only an agent can use",
                            "ssh-add " + shell_quote(file.path));
        }
        const auto body = openssh_body(file.text);
        const auto parts = body ? read_openssh(*body) : std::nullopt;
        key = parts ? read_openssh_private(parts->private_part) : nullptr;
    } else {
        key = read_pem(file.text, passphrase);
    }
    if (!key) {
        return unusable(file,
                        file.encrypted ? "the passphrase is wrong, or the file is damaged"
                                       : "the file holds no private key that can be read",
                        "ssh-keygen -y -f " + shell_quote(file.path) + " tells more");
    }
    PrivateKey result;
    result.blob_ = public_blob(key.get());
    if (result.blob_.empty()) {
        return unusable(file, "a kind of key that ssh does not know", "");
    }
    result.key_ = std::shared_ptr<EVP_PKEY>(key.release(), ::EVP_PKEY_free);
    return result;
}

std::optional<std::string> PrivateKey::sign(std::string_view data) const {
    const auto kind = ::EVP_PKEY_get_base_id(key_.get());
    const auto* curve = kind == EVP_PKEY_EC ? curve_of(key_.get()) : nullptr;
    const EVP_MD* hash = kind == EVP_PKEY_RSA ? ::EVP_sha256() : curve != nullptr ? curve->hash() : nullptr;
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
    return kind == EVP_PKEY_EC ? ecdsa_numbers(signature) : std::optional(std::move(signature));
}

} // namespace dockdist
