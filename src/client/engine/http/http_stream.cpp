#include "client/engine/http/http_stream.hpp"

#include "client/async/children.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/container_engine.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace dockdist {
namespace {

// A stream that says little waits with a small buffer, for there may be thousands; one that flows has large
// ones.
constexpr std::size_t smallest_read = 4 * 1024;
constexpr std::size_t largest_read = 64 * 1024;

} // namespace

Task<Result<std::unique_ptr<HttpStream>>> HttpStream::open(std::shared_ptr<ByteStream> stream,
                                                           HttpRequest request, std::string host_header,
                                                           std::chrono::milliseconds deadline) {
    const Error timeout{ErrorKind::timeout, "",
                        fmt::format("the engine accepted {} {} and did not answer within {}", request.method,
                                    request.target.substr(0, request.target.find('?')),
                                    format_duration(deadline)),
                        ""};
    co_return co_await with_timeout(exchange(std::move(stream), std::move(request), std::move(host_header)),
                                    deadline, timeout);
}

Task<Result<std::unique_ptr<HttpStream>>> HttpStream::exchange(std::shared_ptr<ByteStream> stream,
                                                               HttpRequest request, std::string host_header) {
    std::unique_ptr<HttpStream> self(new HttpStream(std::move(stream)));
    auto head = request_head(request, host_header);
    CO_TRY(head);
    const std::string bytes = *head + request.body;
    const auto written = co_await self->stream_->write(bytes);
    CO_TRY(written);
    const auto answered = co_await self->read_header();
    CO_TRY(answered);
    co_return std::move(self);
}

Task<Result<std::unique_ptr<HttpStream>>> HttpStream::upload(std::shared_ptr<Transport> transport,
                                                             HttpRequest request, std::string host_header,
                                                             std::function<void(std::uint64_t)> on_sent) {
    auto stream = co_await transport->connect();
    CO_TRY(stream);
    auto head = request_head(request, host_header);
    CO_TRY(head);
    std::unique_ptr<HttpStream> self(new HttpStream(std::move(*stream)));
    // Side by side: who refuses may answer before the end and read no more.
    std::optional<Status> answered;
    std::optional<Status> sent;
    const auto executor = co_await boost::asio::this_coro::executor;
    detail::Children reader(executor);
    detail::Children writer(executor);
    reader.start(detail::store(self->read_answer(), answered));
    writer.start(detail::store(self->send(std::move(*head), std::move(request), std::move(on_sent)), sent));
    bool cancelled = co_await reader.join(detail::Children::OnCancel::forward);
    const bool accepted = answered && *answered && self->status() < 300;
    if (cancelled || !accepted) {
        writer.cancel();
    }
    cancelled = co_await writer.join(detail::Children::OnCancel::forward) || cancelled;
    if (cancelled) {
        detail::throw_cancelled();
    }
    if (const auto exception = reader.exception(0)) {
        std::rethrow_exception(exception);
    }
    if (const auto exception = writer.exception(0); exception && !detail::is_cancellation(exception)) {
        std::rethrow_exception(exception);
    }
    if (self->body_error_) {
        co_return *self->body_error_;
    }
    if (!*answered) {
        // Why it could not be sent says more than that the answer was cut short.
        co_return sent && !*sent ? sent->error() : answered->error();
    }
    co_return std::move(self);
}

Task<Status> HttpStream::send(std::string head, HttpRequest request,
                              std::function<void(std::uint64_t)> on_sent) {
    constexpr std::size_t upload_piece = std::size_t{1} << 20U;
    auto written = co_await stream_->write(head);
    if (written && request.streamed_body) {
        co_return co_await send_streamed(*request.streamed_body, request.streamed_size, std::move(on_sent));
    }
    const std::span<const char> body = request.borrowed_body.empty() ? request.body : request.borrowed_body;
    for (std::size_t sent = 0; written && sent < body.size();) {
        const auto part = body.subspan(sent, std::min(upload_piece, body.size() - sent));
        written = co_await stream_->write(part);
        sent += part.size();
        if (written && on_sent) {
            on_sent(sent);
        }
    }
    co_return written;
}

// Of a size that was announced, or in chunks (RFC 9112, 7.1).
Task<Status> HttpStream::send_streamed(ByteSource& body, std::optional<std::uint64_t> size,
                                       std::function<void(std::uint64_t)> on_sent) {
    for (std::uint64_t sent = 0; !size || sent < *size;) {
        auto bytes = co_await body.read();
        if (!bytes || (size && (bytes->empty() || bytes->size() > *size - sent))) {
            body_error_ = bytes
                              ? Error{ErrorKind::internal, "", "what is sent is not as long as announced", ""}
                              : bytes.error();
            co_return co_await stream_->shutdown_send(); // the engine waits for the rest, and then answers
        }
        const bool last = bytes->empty();
        sent += bytes->size();
        if (!size) {
            *bytes = fmt::format("{:x}\r\n{}\r\n", bytes->size(), *bytes);
        }
        CO_TRY(co_await stream_->write(*bytes));
        if (last) {
            break;
        }
        if (on_sent) {
            on_sent(sent);
        }
    }
    co_return ok;
}

// The header; of an answer that refuses, the body too, while the stream is still good.
Task<Status> HttpStream::read_answer() {
    const auto header = co_await read_header();
    if (!header || status() < 300) {
        co_return header;
    }
    auto body = co_await read_all(refusal_limit);
    if (body) {
        ready_ = std::move(*body);
    }
    ended_ = true;
    co_return ok;
}

Task<Status> HttpStream::read_header() {
    std::vector<char> buffer(smallest_read);
    while (!parser_.header_done()) {
        const auto count = co_await stream_->read_some(buffer);
        CO_TRY(count);
        if (*count == 0) {
            if (!parser_.started()) {
                co_return Error{ErrorKind::unreachable, "",
                                "the connection closed before the engine answered",
                                "the engine may have been restarted; run the command again"};
            }
            co_return parser_.feed_end();
        }
        const auto fed = parser_.feed(std::string_view(buffer.data(), *count));
        CO_TRY(fed);
    }
    raw_ = parser_.status() == 101;
    ready_ = raw_ ? parser_.take_rest() : parser_.take_body();
    ended_ = !raw_ && parser_.done();
    co_return ok;
}

Task<Result<std::string>> HttpStream::read() {
    std::string bytes = std::exchange(ready_, {});
    while (bytes.empty() && !ended_) {
        bytes.resize(full_ ? largest_read : smallest_read);
        const auto count = co_await stream_->read_some(bytes);
        CO_TRY(count);
        full_ = *count >= smallest_read;
        bytes.resize(*count);
        if (raw_) {
            ended_ = *count == 0;
            continue;
        }
        const auto fed = *count == 0 ? parser_.feed_end() : parser_.feed(bytes);
        CO_TRY(fed);
        ended_ = parser_.done();
        bytes = parser_.take_body();
    }
    co_return bytes;
}

Task<Result<std::string>> HttpStream::read_all(std::size_t limit) {
    std::string body;
    while (body.size() < limit) {
        auto bytes = co_await read();
        CO_TRY(bytes);
        if (bytes->empty()) {
            break;
        }
        body += *bytes;
    }
    body.resize(std::min(body.size(), limit));
    co_return body;
}

} // namespace dockdist
