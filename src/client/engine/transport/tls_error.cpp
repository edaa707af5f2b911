#include "client/engine/transport/tls_error.hpp"

#include "client/engine/transport/connect_error.hpp"

#include <boost/asio/ssl/error.hpp>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

#include <string>

namespace dockdist {
namespace {

constexpr int first_alert = SSL_AD_REASON_OFFSET; // reasons above it are alerts that the peer sent

bool is_alert(const boost::system::error_code& error) {
    const int reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
    return error.category() == boost::asio::error::get_ssl_category() && reason > first_alert &&
           reason < first_alert + 256;
}

Error refused_by_peer(const boost::system::error_code& error) {
    return {ErrorKind::protocol, "",
            fmt::format("the engine refused our TLS certificate or version: {}", error.message()),
            "are tls.cert and tls.key signed by the CA that dockerd was given (--tlscacert)?"};
}

std::string verify_hint(long result, const EngineAddress& address) {
    switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return fmt::format(
            "the certificate is for another machine: it does not name {}; is the address right?",
            address.host);
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return "the engine's certificate has expired: renew it on that host";
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return "are the clocks of both machines right?";
    default:
        return "does tls.ca name the CA that signed the engine's certificate?";
    }
}

} // namespace

Error handshake_error(const EngineAddress& address, const boost::system::error_code& error,
                      long verify_result) {
    if (verify_result != X509_V_OK) {
        return {ErrorKind::protocol, "",
                fmt::format("the certificate of {} cannot be trusted: {}", address.url,
                            X509_verify_cert_error_string(verify_result)),
                verify_hint(verify_result, address)};
    }
    if (is_alert(error)) {
        return refused_by_peer(error);
    }
    if (error.category() == boost::asio::error::get_ssl_category()) {
        return {ErrorKind::protocol, "",
                fmt::format("{} does not speak TLS: {}", address.url, error.message()),
                "2376 is Docker's port for TLS, 2375 the one without"};
    }
    return connect_error(address, error);
}

Error tls_stream_error(const boost::system::error_code& error) {
    return is_alert(error) ? refused_by_peer(error) : stream_error(error);
}

} // namespace dockdist
