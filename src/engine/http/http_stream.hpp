// One request whose answer is a stream: a connection of its own, which lives as long as the answer.
#pragma once

#include "async/task.hpp"
#include "engine/http/message.hpp"
#include "engine/http/response_parser.hpp"
#include "engine/transport/transport.hpp"

#include <chrono>
#include <memory>

namespace dockdist {

class HttpStream {
public:
    // Sends `request` and waits for the answer's header, at most `deadline` (connecting not included).
    static Task<Result<std::unique_ptr<HttpStream>>> open(std::shared_ptr<Transport> transport,
                                                          HttpRequest request, std::string host_header,
                                                          std::chrono::milliseconds deadline);

    int status() const { return parser_.status(); }
    const HttpHeaders& headers() const { return parser_.headers(); }

    // The next bytes of the body, or, after 101, of the raw stream; "" at its end. At most 64 KiB.
    Task<Result<std::string>> read();
    // The whole body, at most `limit` bytes of it: for answers that are errors.
    Task<Result<std::string>> read_all(std::size_t limit);
    Task<Status> write(std::span<const char> bytes) { return stream_->write(bytes); }
    Task<Status> shutdown_send() { return stream_->shutdown_send(); }

private:
    explicit HttpStream(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}
    static Task<Result<std::unique_ptr<HttpStream>>> exchange(std::unique_ptr<ByteStream> stream,
                                                              HttpRequest request, std::string host_header);
    Task<Status> read_header();

    std::unique_ptr<ByteStream> stream_;
    ResponseParser parser_{std::nullopt};
    std::string ready_{}; // bytes that came together with the header
    bool raw_ = false;    // after 101
    bool ended_ = false;
};

} // namespace dockdist
