#include "client/engine/http/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace dockdist {
namespace {

bool same_name(std::string_view a, std::string_view b) {
    return std::ranges::equal(
        a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

bool fits_in_a_line(std::string_view text) {
    return std::ranges::none_of(text,
                                [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

} // namespace

std::string_view find_header(const HttpHeaders& headers, std::string_view name) {
    const auto found =
        std::ranges::find_if(headers, [&](const auto& header) { return same_name(header.first, name); });
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

Result<std::string> request_head(const HttpRequest& request, std::string_view host) {
    if (!fits_in_a_line(request.target) || request.target.find(' ') != std::string::npos ||
        !fits_in_a_line(host)) {
        return Error{ErrorKind::internal, "", "a request target holds a control character", ""};
    }
    std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: dockdist\r\n", request.method,
                                   request.target, host);
    for (const auto& [name, value] : request.headers) {
        if (!fits_in_a_line(name) || !fits_in_a_line(value)) {
            return Error{ErrorKind::internal, "",
                         fmt::format("the header {} holds a control character", name), ""};
        }
        head += fmt::format("{}: {}\r\n", name, value);
    }
    if (!request.content_type.empty()) {
        head += fmt::format("Content-Type: {}\r\n", request.content_type);
    }
    if (!request.is_read()) {
        const auto size = request.body_size();
        head += size ? fmt::format("Content-Length: {}\r\n", *size) : "Transfer-Encoding: chunked\r\n";
    }
    head += "\r\n";
    return head;
}

std::string percent_encode(std::string_view text, std::string_view keep) {
    static constexpr std::string_view hex = "0123456789ABCDEF";
    std::string encoded;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           std::string_view("-._~").find(c) != std::string_view::npos ||
                           keep.find(c) != std::string_view::npos;
        if (plain) {
            encoded += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            encoded += '%';
            encoded += hex[byte >> 4U];
            encoded += hex[byte & 0xFU];
        }
    }
    return encoded;
}

std::string query_string(const std::vector<std::pair<std::string, std::string>>& parameters) {
    std::string query;
    for (const auto& [name, value] : parameters) {
        if (!value.empty()) {
            query += query.empty() ? '?' : '&';
            query += name + "=" + percent_encode(value);
        }
    }
    return query;
}

} // namespace dockdist
