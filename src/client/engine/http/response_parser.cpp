#include "client/engine/http/response_parser.hpp"

#include "shared/core/text.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/version.hpp>
#include <fmt/format.h>

#include <utility>

namespace dockdist {
namespace {

namespace http = boost::beast::http;

constexpr std::uint32_t header_limit = 64 * 1024;

class Parser final : public http::basic_parser<false> {
public:
    HttpHeaders headers{};
    std::string body{};
    int status = 0;

private:
    using string_view = boost::beast::string_view;
    using error_code = boost::beast::error_code;

    void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
    void on_response_impl(int code, string_view, int, error_code& error) override {
        error = {};
        status = code;
    }
    void on_field_impl(http::field, string_view name, string_view value, error_code& error) override {
        error = {};
        headers.emplace_back(std::string(name), std::string(value));
    }
#if BOOST_VERSION >= 108700
    void on_trailer_field_impl(http::field, string_view, string_view, error_code& error) override {
        error = {};
    }
#endif
    void on_header_impl(error_code& error) override { error = {}; }
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code& error) override { error = {}; }
    std::size_t on_body_impl(string_view bytes, error_code& error) override {
        error = {};
        body.append(bytes.data(), bytes.size());
        return bytes.size();
    }
    void on_chunk_header_impl(std::uint64_t, string_view, error_code& error) override { error = {}; }
    std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code& error) override {
        error = {};
        body.append(bytes.data(), bytes.size());
        return bytes.size();
    }
    void on_finish_impl(error_code& error) override { error = {}; }
};

Error not_http(std::string_view begin) {
    Error error{ErrorKind::protocol, "", "", ""};
    if (begin.size() >= 2 && begin[0] == 0x15 && begin[1] == 0x03) {
        error.message = "the engine speaks TLS, but was contacted without it";
        error.hint = "give the host its `tls:` files (ca, cert, key); port 2376 is Docker's port for TLS, "
                     "2375 the one without";
    } else if (begin.starts_with("SSH-")) {
        error.message = "an ssh server answers there, not a Docker engine";
        error.hint = "write ssh://USER@HOST instead of tcp://";
    } else {
        error.message = fmt::format(
            "what answers there does not speak HTTP, so it is not a Docker engine (it began with '{}')",
            printable(begin.substr(0, 40)));
        error.hint = "check the address and the port";
    }
    return error;
}

} // namespace

struct ResponseParser::Impl {
    Parser parser{};
    std::string pending{}; // fed, not yet parsed
    std::string first{};   // the first bytes, for the message when they are no HTTP
    bool any = false;
    bool needs_more = false; // than what is pending
    std::optional<Error> failure{};

    Status fail(const boost::beast::error_code& error) {
        if (error == http::error::body_limit) {
            failure = Error{ErrorKind::protocol, "", "the engine's answer is too large", ""};
        } else if (error == http::error::header_limit) {
            failure =
                Error{ErrorKind::protocol, "", "the header of the engine's answer is larger than 64 KiB", ""};
        } else if (error == http::error::bad_version || parser.status == 0) {
            failure = not_http(first);
        } else {
            failure = Error{ErrorKind::protocol, "",
                            fmt::format("the engine's answer is not valid HTTP: {}", error.message()), ""};
        }
        return *failure;
    }
};

ResponseParser::ResponseParser(std::optional<std::uint64_t> body_limit) : impl_(std::make_unique<Impl>()) {
    impl_->parser.eager(true);
    impl_->parser.header_limit(header_limit);
    if (body_limit) {
        impl_->parser.body_limit(*body_limit);
    } else {
        impl_->parser.body_limit(boost::none);
    }
}

ResponseParser::ResponseParser(ResponseParser&&) noexcept = default;
ResponseParser& ResponseParser::operator=(ResponseParser&&) noexcept = default;
ResponseParser::~ResponseParser() = default;

Status ResponseParser::feed(std::string_view bytes) {
    Impl& impl = *impl_;
    if (impl.failure) {
        return *impl.failure;
    }
    if (!bytes.empty()) {
        impl.any = true;
    }
    if (impl.first.size() < 64) {
        impl.first += bytes.substr(0, 64 - impl.first.size());
    }
    impl.pending += bytes;
    constexpr std::string_view version = "HTTP/";
    if (!impl.parser.is_header_done() &&
        impl.first.compare(0, version.size(), version.substr(0, impl.first.size())) != 0) {
        impl.failure = not_http(impl.first); // at once: such a peer may never send what ends a header
        return *impl.failure;
    }
    // What is left of a chunked body where a chunk begins is "0\r\n\r\n" at least; Beast asserts that it is
    // not asked again with less.
    constexpr std::size_t least_chunk = 5;
    if (std::exchange(impl.needs_more, false) && impl.parser.is_header_done() && impl.parser.chunked() &&
        impl.pending.size() < least_chunk) {
        impl.needs_more = true;
        return ok;
    }
    std::size_t used = 0;
    while (used < impl.pending.size() && !impl.parser.is_done()) {
        boost::beast::error_code error;
        const std::string_view rest = std::string_view(impl.pending).substr(used);
        const std::size_t count = impl.parser.put(boost::asio::buffer(rest.data(), rest.size()), error);
        used += count;
        if (error == http::error::need_more) {
            impl.needs_more = true;
            break;
        }
        if (error) {
            return impl.fail(error);
        }
        if (count == 0) {
            break;
        }
    }
    impl.pending.erase(0, used);
    if (!impl.parser.is_done() && impl.pending.size() > header_limit) { // of a header or of a chunk's
        return impl.fail(http::error::header_limit);
    }
    return ok;
}

Status ResponseParser::feed_end() {
    Impl& impl = *impl_;
    if (impl.failure) {
        return *impl.failure;
    }
    if (impl.parser.is_done()) {
        return ok;
    }
    if (impl.parser.is_header_done() && impl.parser.need_eof()) {
        boost::beast::error_code error;
        impl.parser.put_eof(error);
        return error ? impl.fail(error) : Status(ok);
    }
    impl.failure = Error{ErrorKind::protocol, "",
                         "the engine's answer was cut short: the connection closed in the middle of it", ""};
    return *impl.failure;
}

bool ResponseParser::header_done() const {
    return impl_->parser.is_header_done();
}
bool ResponseParser::done() const {
    return impl_->parser.is_done();
}
bool ResponseParser::keep_alive() const {
    return impl_->parser.keep_alive();
}
int ResponseParser::status() const {
    return impl_->parser.status;
}
const HttpHeaders& ResponseParser::headers() const {
    return impl_->parser.headers;
}
std::string ResponseParser::take_body() {
    return std::exchange(impl_->parser.body, {});
}
std::string ResponseParser::take_rest() {
    return std::exchange(impl_->pending, {});
}
bool ResponseParser::started() const {
    return impl_->any;
}

} // namespace dockdist
