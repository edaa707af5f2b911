#include "fakes/tls_front.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <stdexcept>
#include <stdlib.h>

namespace dockdist {
namespace {

template <auto release>
struct Release {
    template <class T>
    void operator()(T* thing) const {
        release(thing);
    }
};
using Key = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Release<X509_free>>;
using File = std::unique_ptr<FILE, Release<std::fclose>>;

void add_extension(X509* certificate, int kind, const std::string& value) {
    const std::unique_ptr<X509_EXTENSION, Release<X509_EXTENSION_free>> extension(
        X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str()));
    X509_add_ext(certificate, extension.get(), -1);
}

// Signed by `signer`, or by itself.
Certificate make_certificate(EVP_PKEY* key, const std::string& name, int days, X509* issuer, EVP_PKEY* signer,
                             const std::string& subject) {
    static long serial = 0;
    Certificate certificate(X509_new());
    X509_set_version(certificate.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -2L * 24 * 3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), days * 24L * 3600);
    X509_set_pubkey(certificate.get(), key);
    X509_NAME* const own = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(own, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.c_str()),
                               -1, -1, 0);
    X509_set_issuer_name(certificate.get(), issuer == nullptr ? own : X509_get_subject_name(issuer));
    if (issuer == nullptr) {
        add_extension(certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
    } else if (!subject.empty()) {
        add_extension(certificate.get(), NID_subject_alt_name, subject);
    }
    if (X509_sign(certificate.get(), signer, EVP_sha256()) == 0) {
        throw std::runtime_error("cannot sign a certificate");
    }
    return certificate;
}

void write_certificate(const std::string& path, X509* certificate) {
    const File file(std::fopen(path.c_str(), "we"));
    PEM_write_X509(file.get(), certificate);
}

} // namespace

TemporaryFolder::TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "dockdist-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        throw std::runtime_error("cannot make a temporary folder");
    }
    path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

struct TestAuthority::Keys {
    Key key{EVP_EC_gen("P-256")};
    Certificate certificate{};
};

TestAuthority::TestAuthority(const TemporaryFolder& folder, const std::string& name)
    : folder_(folder), file_(folder.file(name + ".pem")), keys_(std::make_unique<Keys>()) {
    keys_->certificate = make_certificate(keys_->key.get(), name, 2, nullptr, keys_->key.get(), "");
    write_certificate(file_, keys_->certificate.get());
}

TestAuthority::~TestAuthority() = default;

TlsFiles TestAuthority::issue(const std::string& name, const std::string& subject, int days) const {
    const Key key(EVP_EC_gen("P-256"));
    const auto certificate =
        make_certificate(key.get(), name, days, keys_->certificate.get(), keys_->key.get(), subject);
    TlsFiles files{file_, folder_.file(name + "-cert.pem"), folder_.file(name + "-key.pem")};
    write_certificate(files.cert, certificate.get());
    const File file(std::fopen(files.key.c_str(), "we"));
    PEM_write_PrivateKey(file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return files;
}

} // namespace dockdist
