// Reads one HTTP/1.1 response from bytes fed in pieces of any size; no I/O. Chunked bodies come out joined.
#pragma once

#include "client/engine/http/message.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace dockdist {

class ResponseParser {
public:
    // `body_limit` in bytes; empty: the caller takes the body as it comes (take_body), so there is no limit.
    explicit ResponseParser(std::optional<std::uint64_t> body_limit);
    ResponseParser(ResponseParser&&) noexcept;
    ResponseParser& operator=(ResponseParser&&) noexcept;
    ~ResponseParser();

    // ErrorKind::protocol, and final, when the bytes are not a response or pass a limit.
    Status feed(std::string_view bytes);
    // The peer closed. Ends a body without length; an error when something is missing.
    Status feed_end();

    bool header_done() const;
    bool done() const;
    bool keep_alive() const;
    int status() const;
    const HttpHeaders& headers() const;
    // The part of the body that came since the last call.
    std::string take_body();
    // After done(): what was fed beyond this response.
    std::string take_rest();
    // Whether any byte was fed.
    bool started() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace dockdist
