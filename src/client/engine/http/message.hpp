// An HTTP/1.1 request and response as plain values, and how a request is written.
#pragma once

#include "shared/core/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dockdist {

class ByteSource;

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
    std::string method{"GET"};
    std::string target{"/"}; // path and query, already percent-encoded
    HttpHeaders headers{};   // beside Host, Content-Length and Content-Type
    std::string content_type{};
    std::string body{};
    std::span<const char> borrowed_body{}; // sent instead of body when not empty; the caller keeps it alive
    // Read and sent instead of both; of an HttpStream::upload alone.
    std::shared_ptr<ByteSource> streamed_body{};
    std::optional<std::uint64_t> streamed_size{}; // bytes of it; nothing: not known, it is sent in chunks

    bool is_read() const { return method == "GET"; }
    std::optional<std::uint64_t> body_size() const {
        return streamed_body ? streamed_size : borrowed_body.empty() ? body.size() : borrowed_body.size();
    }
};

struct HttpResponse {
    int status = 0;
    HttpHeaders headers{};
    std::string body{};
};

// The value of the first header of that name, in any case; empty when there is none.
std::string_view find_header(const HttpHeaders& headers, std::string_view name);

// The request up to its body. Refuses (ErrorKind::internal) whatever would break out of its line.
Result<std::string> request_head(const HttpRequest& request, std::string_view host);

// Percent-encodes everything but unreserved characters and those in `keep`.
std::string percent_encode(std::string_view text, std::string_view keep = "");

// "?name=value&…", encoded; pairs with an empty value are left out. "" when nothing is left.
std::string query_string(const std::vector<std::pair<std::string, std::string>>& parameters);

} // namespace dockdist
