#include "node/relay/relay_http.hpp"

#include "node/system/secret.hpp"
#include "shared/core/encode.hpp"
#include "shared/core/number.hpp"
#include "shared/wire/relay.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace dockdist::node {
namespace {

namespace http = boost::beast::http;

constexpr std::uint32_t longest_head = 16 * 1024;

bool is_tls_hello(std::string_view bytes) {
    return bytes.starts_with('\x16');
}

Error no_request(const std::string& why) {
    return {ErrorKind::protocol, "", "unsupported request: " + why, ""};
}

// "bytes=N-"; nothing for other ranges.
std::optional<std::int64_t> offset_in(std::string_view range) {
    constexpr std::string_view unit = "bytes=";
    if (!range.starts_with(unit) || !range.ends_with('-')) {
        return std::nullopt;
    }
    range = range.substr(unit.size(), range.size() - unit.size() - 1);
    const auto offset = whole_number<std::int64_t>(range);
    return offset.value_or(-1) < 0 ? std::nullopt : offset;
}

} // namespace

Result<std::optional<RelayHttpRequest>> take_relay_http(std::string& bytes) {
    if (is_tls_hello(bytes)) {
        return no_request("TLS");
    }
    http::request_parser<http::empty_body> parser;
    parser.header_limit(longest_head);
    boost::beast::error_code error;
    const auto taken = parser.put(boost::asio::buffer(bytes), error);
    if (error == http::error::need_more && !parser.is_header_done() && bytes.size() <= longest_head) {
        return std::optional<RelayHttpRequest>();
    }
    if (error || !parser.is_done()) {
        return no_request(error ? error.message() : "it has a body");
    }
    const auto& head = parser.get();
    if (head.method() != http::verb::get && head.method() != http::verb::head) {
        return no_request("its method");
    }
    RelayHttpRequest request{.path = std::string(head.target()),
                             .authorization = std::string(head[http::field::authorization]),
                             .wants_body = head.method() == http::verb::get,
                             .keep_alive = head.keep_alive()};
    if (const auto range = head.find(http::field::range); range != head.end()) {
        const auto offset = offset_in(range->value());
        if (!offset) {
            return no_request("its range");
        }
        request.offset = *offset;
    }
    bytes.erase(0, taken);
    return std::optional(std::move(request));
}

std::string blob_in_path(std::string_view path) {
    constexpr std::string_view blobs = "/blobs/";
    const auto at = path.rfind(blobs);
    return path.starts_with("/v2/") && at != std::string_view::npos
               ? std::string(path.substr(at + blobs.size()))
               : std::string();
}

bool is_manifest_path(std::string_view path) {
    return path.starts_with("/v2/") && path.find("/manifests/") != std::string_view::npos;
}

std::string relay_authorization(std::string_view token) {
    return "Basic " + to_base64(std::string(wire::relay_user) + ":" + std::string(token));
}

std::string relay_answer(std::string_view status, std::string_view headers, std::string_view body,
                         bool wants_body) {
    return "HTTP/1.1 " + std::string(status) + "\r\n" + std::string(headers) +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(wants_body ? body : std::string_view());
}

std::string relay_refusal() {
    return relay_answer("401 Unauthorized", "WWW-Authenticate: Basic realm=\"dockdist\"\r\n", "");
}

std::string relay_no_tls() {
    return relay_answer("400 Bad Request", "Connection: close\r\n", "");
}

Stranger::Verdict EngineStranger::hear(std::string_view bytes, std::string& answer) {
    bytes_ += bytes;
    if (is_tls_hello(bytes_)) {
        answer += relay_no_tls();
        return Verdict::send_away;
    }
    while (true) {
        auto request = take_relay_http(bytes_);
        if (!request) {
            return Verdict::send_away;
        }
        if (!*request) {
            return Verdict::unknown;
        }
        if (same_secret((*request)->authorization, authorization_)) {
            request_ = std::move(**request);
            return Verdict::let_in;
        }
        answer += relay_refusal();
        if (!(*request)->keep_alive) {
            return Verdict::send_away;
        }
    }
}

} // namespace dockdist::node
