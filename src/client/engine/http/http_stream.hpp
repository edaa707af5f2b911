// One request whose answer is a stream: it has its connection alone, which lives as long as the answer.
#pragma once

#include "client/async/task.hpp"
#include "client/engine/http/message.hpp"
#include "client/engine/http/response_parser.hpp"
#include "client/engine/transport/transport.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace dockdist {

class HttpStream {
public:
    // Sends `request` and waits for the answer's header, at most `deadline`.
    static Task<Result<std::unique_ptr<HttpStream>>> open(std::shared_ptr<ByteStream> stream,
                                                          HttpRequest request, std::string host_header,
                                                          std::chrono::milliseconds deadline);

    // The same without a deadline, for a request whose body is big or whose answer takes long: `on_sent` is
    // told how many bytes of the body are sent. An engine that refuses before it has read everything is
    // heard: its answer ends the sending.
    static Task<Result<std::unique_ptr<HttpStream>>> upload(std::shared_ptr<Transport> transport,
                                                            HttpRequest request, std::string host_header,
                                                            std::function<void(std::uint64_t)> on_sent);

    int status() const { return parser_.status(); }
    const HttpHeaders& headers() const { return parser_.headers(); }

    // The next bytes of the body, or, after 101, of the raw stream; "" at its end. At most 64 KiB.
    Task<Result<std::string>> read();
    // The whole body, at most `limit` bytes of it: for answers that are errors.
    Task<Result<std::string>> read_all(std::size_t limit);
    Task<Status> write(std::span<const char> bytes) { return stream_->write(bytes); }
    Task<Status> shutdown_send() { return stream_->shutdown_send(); }

private:
    // What is kept of an answer that refuses an upload.
    static constexpr std::size_t refusal_limit = 64U << 10U;

    explicit HttpStream(std::shared_ptr<ByteStream> stream) : stream_(std::move(stream)) {}
    static Task<Result<std::unique_ptr<HttpStream>>> exchange(std::shared_ptr<ByteStream> stream,
                                                              HttpRequest request, std::string host_header);
    Task<Status> read_header();
    Task<Status> read_answer();
    Task<Status> send(std::string head, HttpRequest request, std::function<void(std::uint64_t)> on_sent);
    Task<Status> send_streamed(ByteSource& body, std::optional<std::uint64_t> size,
                               std::function<void(std::uint64_t)> on_sent);

    std::shared_ptr<ByteStream> stream_;
    ResponseParser parser_{std::nullopt};
    std::optional<Error> body_error_{}; // why a streamed body did not come to its end
    std::string ready_{};               // bytes that came together with the header
    bool raw_ = false;                  // after 101
    bool ended_ = false;
    bool full_ = false; // the last read brought as much as a small buffer takes
};

} // namespace dockdist
