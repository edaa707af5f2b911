#include "client/engine/http/http_client.hpp"

#include "client/async/children.hpp"
#include "client/engine/http/http_call.hpp"
#include "client/engine/http/response_parser.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <deque>

namespace dockdist {
namespace {

constexpr std::size_t read_buffer = 16 * 1024; // one a busy host

} // namespace

// Shared by the client and the two coroutines that run while there is work: the writer, which sends what is
// queued, and the reader of the stream that is open. Each of them holds it, so that it outlives them.
class HttpClient::Connection : public std::enable_shared_from_this<HttpClient::Connection> {
public:
    Connection(boost::asio::any_io_executor executor, std::shared_ptr<Transport> transport,
               std::string host_header)
        : executor_(std::move(executor)), transport_(std::move(transport)),
          host_header_(std::move(host_header)), changed_(executor_), deadline_(executor_) {}

    static Task<Result<HttpResponse>> call(std::shared_ptr<Connection> self, HttpRequest request,
                                           CallLimits limits) {
        if (self->shut_down_) {
            co_return closed();
        }
        const auto pending = std::make_shared<HttpCall>(self->executor_, std::move(request), limits);
        self->queue_.push_back(pending);
        self->start_writer();
        struct Guard {
            std::shared_ptr<Connection> connection;
            HttpCallPointer call;
            ~Guard() { connection->abandon(call); }
        };
        const Guard guard{self, pending};
        co_await pending->done.wait();
        co_return std::move(pending->result);
    }

    void shut_down() {
        shut_down_ = true;
        drop_stream();
        fail(in_flight_, closed());
        fail(queue_, closed());
        give_up_connecting();
    }

    std::shared_ptr<ByteStream> take_idle() {
        const bool busy = writing_ || reading_ || !queue_.empty() || !in_flight_.empty();
        return !stream_ || busy || stream_->stale() ? nullptr : std::exchange(stream_, nullptr);
    }

    int round_trips() const { return round_trips_; }

private:
    using Calls = std::deque<HttpCallPointer>;

    void abandon(const HttpCallPointer& call) {
        if (call->done.is_set()) {
            return;
        }
        call->abandoned = true;
        std::erase(queue_, call);
        if (queue_.empty()) {
            give_up_connecting();
        }
        if (std::ranges::find(in_flight_, call) != in_flight_.end() && !call->request.borrowed_body.empty()) {
            // Its bytes are the caller's, who is about to go: what is half sent stays half sent.
            lose_stream({ErrorKind::unreachable, "", "an upload was abandoned", ""});
        }
    }

    static void fail(Calls& calls, const Error& error) {
        for (const auto& call : std::exchange(calls, {})) {
            call->finish(error);
        }
    }

    // --- writing ---

    void start_writer() {
        if (!std::exchange(writing_, true)) {
            boost::asio::co_spawn(
                executor_, write_queue(shared_from_this()),
                boost::asio::bind_cancellation_slot(
                    give_up_.slot(), [self = shared_from_this()](const std::exception_ptr& exception) {
                        self->writer_ended(exception);
                    }));
        }
    }

    static Task<void> write_queue(std::shared_ptr<Connection> self) {
        // After a turn of the loop, so that reads asked for side by side are all in the queue.
        co_await boost::asio::post(boost::asio::use_awaitable);
        while (!self->queue_.empty()) {
            const bool write_goes_on =
                !self->in_flight_.empty() && !self->in_flight_.front()->request.is_read();
            if (write_goes_on || (!self->queue_.front()->request.is_read() && !self->in_flight_.empty())) {
                co_await self->changed_.wait_for_change();
                continue;
            }
            if (self->in_flight_.empty() && self->stream_ && self->answered_ > 0 && self->stream_->stale()) {
                self->drop_stream();
            }
            if (!self->stream_) {
                self->connecting_ = true;
                auto stream = co_await self->transport_->connect();
                self->connecting_ = false;
                if (!stream) {
                    fail(self->queue_, stream.error());
                    continue;
                }
                self->stream_ = std::move(*stream);
                self->answered_ = 0;
                continue;
            }
            co_await self->send_next();
        }
    }

    void writer_ended(const std::exception_ptr& exception) {
        writing_ = false;
        connecting_ = false;
        if (shut_down_) {
            drop_stream();
        }
        if (exception && !detail::is_cancellation(exception)) {
            fail(queue_, {ErrorKind::internal, "", "the writer of requests ended", ""});
        }
        if (!queue_.empty()) {
            start_writer(); // asked for while an unwanted connection was being given up
        }
    }

    void give_up_connecting() {
        if (connecting_) {
            give_up_.emit(boost::asio::cancellation_type::terminal);
        }
    }

    // Moves the next write, or all the reads at the front of the queue, to in_flight_ and sends them.
    Task<void> send_next() {
        const bool first_of_a_trip = in_flight_.empty();
        std::string bytes;
        std::span<const char> borrowed;
        std::size_t sent = 0;
        while (!queue_.empty() && (sent == 0 || queue_.front()->request.is_read())) {
            const auto call = queue_.front();
            queue_.pop_front();
            const auto head = request_head(call->request, host_header_);
            if (!head) {
                call->finish(head.error());
                continue;
            }
            bytes += *head;
            borrowed = call->request.borrowed_body;
            if (borrowed.empty()) {
                bytes += call->request.body;
            }
            in_flight_.push_back(call);
            ++sent;
            if (!call->request.is_read()) {
                break;
            }
        }
        if (sent == 0) {
            co_return;
        }
        if (first_of_a_trip) {
            ++round_trips_;
            start_deadline();
        }
        // The reader begins at once, and may find here already that the stream has ended: an ssh channel's
        // end may have come before.
        const auto stream = stream_;
        if (!std::exchange(reading_, true)) {
            boost::asio::co_spawn(executor_, read_answers(shared_from_this(), stream), boost::asio::detached);
        }
        if (stream != stream_) {
            co_return;
        }
        // A failure to send is left to the reader: it may find an answer that says why (an upload that is
        // refused).
        sending_ = true;
        const auto written = co_await stream->write(bytes);
        if (written && !borrowed.empty() && stream == stream_) {
            (void)co_await stream->write(borrowed);
        }
        sending_ = false;
    }

    // --- reading: runs while something is in flight on `stream` ---

    static Task<void> read_answers(std::shared_ptr<Connection> self, std::shared_ptr<ByteStream> stream) {
        std::string rest;
        std::array<char, read_buffer> buffer{};
        while (self->stream_ == stream && !self->in_flight_.empty()) {
            ResponseParser parser(self->in_flight_.front()->limits.body);
            auto fed = parser.feed(rest);
            rest.clear();
            while (fed && !parser.done()) {
                const auto count = co_await stream->read_some(buffer);
                if (self->stream_ != stream) {
                    co_return;
                }
                if (!count || *count == 0) {
                    const Error cause = count ? Error{ErrorKind::unreachable, "", "", ""} : count.error();
                    self->answer_ended(parser, cause);
                    co_return;
                }
                fed = parser.feed(std::string_view(buffer.data(), *count));
            }
            if (!fed) {
                self->fail_front(fed.error());
                co_return;
            }
            rest = parser.take_rest();
            const bool write = !self->in_flight_.front()->request.is_read();
            if (write && self->sending_) { // its last write may have ended in this very turn of the loop
                co_await boost::asio::post(boost::asio::use_awaitable);
                if (self->stream_ != stream) {
                    co_return;
                }
            }
            // A request that is answered before its end: the engine will not read the rest, nothing would
            // end our waiting for it, and the bytes of an upload go with the call.
            self->deliver(parser, write && self->sending_);
        }
        if (self->stream_ == stream) {
            self->reading_ = false;
            if (!rest.empty()) {
                self->drop_stream(); // nobody asked for these bytes
            }
        }
    }

    void deliver(ResponseParser& parser, bool close) {
        ++answered_;
        const auto call = in_flight_.front();
        in_flight_.pop_front();
        if (close || !parser.keep_alive() || parser.status() < 200) {
            lose_stream({ErrorKind::unreachable, "", "", ""});
        } else {
            start_deadline();
        }
        call->finish(HttpResponse{parser.status(), parser.headers(), parser.take_body()});
        changed_.notify();
    }

    // The stream ended before the answer at the front was complete.
    void answer_ended(ResponseParser& parser, const Error& cause) {
        if (!parser.started()) {
            lose_stream(cause);
            return;
        }
        const auto ended = parser.feed_end();
        if (ended) {
            deliver(parser, true);
        } else {
            fail_front(ended.error());
        }
    }

    void fail_front(const Error& error) {
        const auto call = in_flight_.front();
        in_flight_.pop_front();
        call->finish(error);
        lose_stream({ErrorKind::unreachable, "", "", ""});
    }

    // --- the stream ---

    void drop_stream() {
        if (stream_) {
            stream_->close();
            stream_.reset();
        }
        reading_ = false;
        deadline_.cancel();
        changed_.notify();
    }

    // Drops it, and decides what becomes of the calls whose answers will not come: those that may be repeated
    // go back to the queue if this connection has answered anything (so it was an old one), the others fail.
    void lose_stream(const Error& cause) {
        const bool worked = answered_ > 0;
        drop_stream();
        auto calls = std::exchange(in_flight_, {});
        while (!calls.empty()) {
            const auto call = calls.back();
            calls.pop_back();
            if (call->abandoned) {
                continue;
            }
            if (worked && call->repeatable() && cause.kind == ErrorKind::unreachable) {
                queue_.push_front(call);
            } else {
                call->finish(lost_before_answer(*call, cause));
            }
        }
        if (!queue_.empty() && !shut_down_) {
            start_writer();
        }
    }

    void start_deadline() {
        deadline_.cancel();
        if (in_flight_.empty()) {
            return;
        }
        const auto call = in_flight_.front();
        deadline_.expires_after(call->limits.deadline);
        deadline_.async_wait([weak = weak_from_this(), call](boost::system::error_code error) {
            const auto self = weak.lock();
            if (error || !self || self->in_flight_.empty() || self->in_flight_.front() != call) {
                return;
            }
            const Error timeout = no_answer(*call);
            self->drop_stream();
            fail(self->in_flight_, timeout);
            fail(self->queue_, timeout);
        });
    }

    boost::asio::any_io_executor executor_;
    std::shared_ptr<Transport> transport_;
    std::string host_header_;
    Calls queue_{};     // not sent yet
    Calls in_flight_{}; // sent on stream_, in the order of their answers: one write, or reads
    std::shared_ptr<ByteStream> stream_{};
    int answered_ = 0; // on stream_
    int round_trips_ = 0;
    bool writing_ = false; // write_queue runs
    bool reading_ = false; // read_answers runs on stream_
    bool sending_ = false;
    bool connecting_ = false;
    bool shut_down_ = false;
    AsyncEvent changed_;
    boost::asio::steady_timer deadline_;
    boost::asio::cancellation_signal give_up_{};
};

HttpClient::HttpClient(boost::asio::any_io_executor executor, std::shared_ptr<Transport> transport,
                       std::string host_header)
    : connection_(
          std::make_shared<Connection>(std::move(executor), std::move(transport), std::move(host_header))) {}

HttpClient::~HttpClient() {
    connection_->shut_down();
}

void HttpClient::close() {
    connection_->shut_down();
}

Task<Result<HttpResponse>> HttpClient::call(HttpRequest request, CallLimits limits) {
    return Connection::call(connection_, std::move(request), limits);
}

std::shared_ptr<ByteStream> HttpClient::take_idle() {
    return connection_->take_idle();
}

int HttpClient::round_trips() const {
    return connection_->round_trips();
}

} // namespace dockdist
