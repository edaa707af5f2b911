#include "client/async/with_timeout.hpp"
#include "client/engine/transport/handshakes.hpp"
#include "client/engine/transport/socket_stream.hpp"
#include "client/engine/transport/tcp_connect.hpp"
#include "client/engine/transport/tls_error.hpp"
#include "client/engine/transport/transport.hpp"
#include "shared/core/regular_file.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <fmt/format.h>

#include <string>

namespace dockdist {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using asio::ip::tcp;
using std::chrono::milliseconds;
using Context = std::shared_ptr<ssl::context>;

constexpr std::size_t most_pem = 16U << 20U; // bytes; all authorities of a system are a few hundred KiB

Error not_prepared() {
    return {ErrorKind::internal, "", "OpenSSL on this machine refuses what a safe connection needs",
            "`dockdist self-check` says which OpenSSL it is"};
}

Result<Context> load_context(const TlsFiles& files) {
    auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
    boost::system::error_code error;
    // A key with a passphrase is an error: OpenSSL would ask for it on the terminal.
    if (context->set_password_callback(
            [](std::size_t, ssl::context::password_purpose) { return std::string(); }, error) ||
        context->set_verify_mode(ssl::verify_peer, error) ||
        ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION) != 1) {
        return not_prepared();
    }
    // Read here: OpenSSL would wait at a FIFO in the place of one.
    const auto load = [&](const char* what, const std::string& path, const auto& use) -> Status {
        const auto file = read_file(path, most_pem);
        if (file && (use(asio::buffer(file->text)), !error)) {
            return ok;
        }
        return Error{ErrorKind::config, "",
                     fmt::format("cannot use the file of tls.{} '{}': {}", what, path,
                                 file ? error.message() : file.error().message),
                     "`tls:` names three PEM files: ca, cert and key (without a passphrase)"};
    };
    Status loaded = ok;
    if (files.ca.empty()) {
        if (context->set_default_verify_paths(error)) {
            return not_prepared();
        }
    } else {
        loaded =
            load("ca", files.ca, [&](auto pem) { error = context->add_certificate_authority(pem, error); });
    }
    if (loaded && !files.cert.empty()) {
        loaded =
            load("cert", files.cert, [&](auto pem) { error = context->use_certificate_chain(pem, error); });
    }
    if (loaded && !files.key.empty()) {
        loaded = load("key", files.key,
                      [&](auto pem) { error = context->use_private_key(pem, ssl::context::pem, error); });
    }
    TRY(loaded);
    return context;
}

class TlsStream final : public ByteStream {
public:
    TlsStream(tcp::socket socket, Context context)
        : context_(std::move(context)), stream_(std::move(socket), *context_) {}

    Task<Status> handshake(const EngineAddress& address) {
        if (!expect_name(address.host)) {
            co_return Error{
                ErrorKind::config, "",
                fmt::format("no certificate can be checked against the name '{}'", printable(address.host)),
                "name the engine by a host name or an IP address"};
        }
        const auto [error] =
            co_await stream_.async_handshake(ssl::stream_base::client, asio::as_tuple(asio::use_awaitable));
        if (error) {
            co_await throw_if_cancelled(error);
            co_return handshake_error(address, error, ::SSL_get_verify_result(stream_.native_handle()));
        }
        co_return ok;
    }

    Task<Result<std::size_t>> read_some(std::span<char> buffer) override {
        const auto [error, count] = co_await stream_.async_read_some(
            asio::buffer(buffer.data(), buffer.size()), asio::as_tuple(asio::use_awaitable));
        if (error == asio::error::eof) {
            co_return std::size_t{0};
        }
        if (error) {
            co_await throw_if_cancelled(error);
            co_return tls_stream_error(error);
        }
        co_return count;
    }

    Task<Status> write(std::span<const char> bytes) override {
        const auto [error, count] = co_await asio::async_write(
            stream_, asio::buffer(bytes.data(), bytes.size()), asio::as_tuple(asio::use_awaitable));
        if (error) {
            co_await throw_if_cancelled(error);
            co_return tls_stream_error(error);
        }
        co_return ok;
    }

    // Asio's async_shutdown waits for the peer's close_notify, which comes only when the peer has said all it
    // has to say, and SSL_shutdown alone leaves ours in Asio's buffer: so it is made into a buffer of our own
    // and sent.
    Task<Status> shutdown_send() override {
        SSL* const ssl = stream_.native_handle();
        BIO* const usual = ::SSL_get_wbio(ssl);
        BIO* const memory = ::BIO_new(::BIO_s_mem());
        ::BIO_up_ref(usual);
        ::SSL_set0_wbio(ssl, memory);
        ::SSL_shutdown(ssl);
        char* data = nullptr;
        const auto size = BIO_get_mem_data(memory, &data);
        const std::string close_notify(data, static_cast<std::size_t>(size));
        ::SSL_set0_wbio(ssl, usual);
        const auto [error, count] = co_await asio::async_write(
            stream_.next_layer(), asio::buffer(close_notify), asio::as_tuple(asio::use_awaitable));
        if (error) {
            co_await throw_if_cancelled(error);
            co_return stream_error(error);
        }
        co_return ok;
    }

    void close() noexcept override {
        boost::system::error_code ignored;
        ignored = stream_.next_layer().close(ignored);
    }

    bool stale() override {
        return !stream_.next_layer().is_open() || peek(stream_.next_layer().native_handle()) != 0;
    }

private:
    // Without it any certificate of the authority would do. An empty name would switch the check off, and one
    // with a dot before it would mean every machine below it.
    [[nodiscard]] bool expect_name(const std::string& host) {
        SSL* const ssl = stream_.native_handle();
        X509_VERIFY_PARAM* const expected = ::SSL_get0_param(ssl);
        if (host.empty() || host.front() == '.' || host.find('\0') != std::string::npos) {
            return false;
        }
        boost::system::error_code not_numeric;
        const auto address = asio::ip::make_address(host, not_numeric);
        if (not_numeric) {
            ::SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
            return ::X509_VERIFY_PARAM_set1_host(expected, host.data(), host.size()) == 1 &&
                   SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
        }
        const auto set = [&](const auto& bytes) {
            return ::X509_VERIFY_PARAM_set1_ip(expected, bytes.data(), bytes.size()) == 1;
        };
        return address.is_v4() ? set(address.to_v4().to_bytes()) : set(address.to_v6().to_bytes());
    }

    Context context_;
    ssl::stream<tcp::socket> stream_;
};

using StreamResult = Result<std::unique_ptr<ByteStream>>;

Task<StreamResult> shake_hands(std::unique_ptr<TlsStream> stream, EngineAddress address) {
    const auto done = co_await stream->handshake(address);
    CO_TRY(done);
    co_return std::unique_ptr<ByteStream>(std::move(stream));
}

class TlsTransport final : public Transport {
public:
    TlsTransport(asio::any_io_executor executor, EngineAddress address, const TlsFiles& tls,
                 milliseconds limit)
        : executor_(std::move(executor)), address_(std::move(address)), limit_(limit),
          context_(load_context(tls)) {}

    Task<StreamResult> connect() override { return connect(executor_, address_, limit_, context_); }

private:
    static Task<StreamResult> connect(asio::any_io_executor executor, EngineAddress address,
                                      milliseconds limit, Result<Context> context) {
        CO_TRY(context);
        auto socket = co_await connect_tcp(executor, address, limit);
        CO_TRY(socket);
        auto stream = std::make_unique<TlsStream>(std::move(**socket), *context);
        Error timeout = connect_timeout_error(address, limit);
        timeout.message =
            fmt::format("{} accepted the connection and did not answer the TLS handshake", address.url);
        timeout.hint = "is that Docker's port for TLS (2376), and is the Docker daemon there stuck?";
        const auto permit = co_await handshake_place(executor);
        co_return co_await with_timeout(shake_hands(std::move(stream), address), limit, timeout);
    }

    asio::any_io_executor executor_;
    EngineAddress address_;
    milliseconds limit_;
    Result<Context> context_;
};

} // namespace

std::unique_ptr<Transport> make_tls_transport(const asio::any_io_executor& executor, EngineAddress address,
                                              TlsFiles tls, milliseconds connect_timeout) {
    return std::make_unique<TlsTransport>(executor, std::move(address), tls, connect_timeout);
}

} // namespace dockdist
