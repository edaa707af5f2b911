#include "client/engine/transport/ssh/session.hpp"

#include "client/async/with_timeout.hpp"
#include "client/engine/transport/socket_stream.hpp"
#include "client/engine/transport/ssh/channel.hpp"
#include "client/engine/transport/ssh/packet.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t receive_buffer = 64 * 1024;
constexpr std::size_t held_inbound = 1 << 20;    // nobody asks for more: let the peer wait
constexpr std::size_t held_outbound = 128 << 10; // a writer waits beyond that
constexpr unsigned window = 2 << 20;             // bytes that the peer may send ahead on one channel
constexpr unsigned packet = 32768;
constexpr auto open_limit = 15s;

Error lost(const std::string& where, std::string_view why) {
    return {ErrorKind::unreachable, "",
            fmt::format("the ssh connection to {} was lost{}{}", where, why.empty() ? "" : ": ", why),
            "is the machine up, and the network to it?"};
}

void prepare_libssh2() {
    [[maybe_unused]] static const int prepared = ::libssh2_init(0);
}

} // namespace

SshSession::SshSession(boost::asio::any_io_executor executor, Socket socket,
                       std::unique_ptr<ChildProcess> proxy, std::string where)
    : executor_(std::move(executor)), socket_(std::move(socket)), proxy_(std::move(proxy)),
      where_(std::move(where)), progress_(executor_), taken_(executor_), room_(executor_),
      opening_(executor_, 1), alive_(executor_) {
    prepare_libssh2();
    raw_ = ::libssh2_session_init_ex(nullptr, nullptr, nullptr, this);
    ::libssh2_session_set_blocking(raw_, 0);
    ::libssh2_session_callback_set(raw_, LIBSSH2_CALLBACK_RECV, reinterpret_cast<void*>(&receive));
    ::libssh2_session_callback_set(raw_, LIBSSH2_CALLBACK_SEND, reinterpret_cast<void*>(&send));
    ::libssh2_session_callback_set(raw_, LIBSSH2_CALLBACK_DISCONNECT, reinterpret_cast<void*>(&hung_up));
}

SshSession::~SshSession() {
    end(lost(where_, ""));
    // receive() only says "lost" by now, so nothing in here waits for the peer. Before the socket closes:
    // libssh2 sets the descriptor's flags once more.
    while (::libssh2_session_free(raw_) == LIBSSH2_ERROR_EAGAIN) {
    }
}

std::shared_ptr<SshSession> SshSession::create(boost::asio::any_io_executor executor, Socket socket,
                                               std::unique_ptr<ChildProcess> proxy, std::string where) {
    auto session = std::make_shared<SshSession>(std::move(executor), std::move(socket), std::move(proxy),
                                                std::move(where));
    boost::system::error_code ignored;
    ignored = session->socket_.non_blocking(true, ignored);
    boost::asio::co_spawn(session->executor_, receive_all(session), boost::asio::detached);
    return {session.get(), [session](SshSession*) mutable {
                session->end(lost(session->where_, "it is not needed any more"));
                session.reset();
            }};
}

void SshSession::end(const Error& error) {
    if (broken_) {
        return;
    }
    if (!farewell_.empty() || ::libssh2_userauth_authenticated(raw_) != 0) {
        (void)::libssh2_session_disconnect(raw_, "done");
    }
    broken_ = error;
    knocking_.release();
    boost::system::error_code ignored;
    ignored = socket_.cancel(ignored);
    ignored = socket_.shutdown(Socket::shutdown_both, ignored);
    alive_.cancel();
    progress_.set();
    taken_.set();
    room_.set();
}

// --- libssh2's side of the socket ---

ssize_t SshSession::receive(int /*socket*/, void* buffer, std::size_t size, int /*flags*/, void** self) {
    auto& session = *static_cast<SshSession*>(*self);
    if (session.broken_) {
        return -ECONNRESET;
    }
    const auto count = std::min(size, session.in_.size() - session.in_at_);
    if (count == 0) {
        return -EAGAIN;
    }
    std::memcpy(buffer, session.in_.data() + session.in_at_, count);
    session.in_at_ += count;
    if (session.in_at_ == session.in_.size()) {
        session.in_.clear();
        session.in_at_ = 0;
        session.taken_.notify();
    }
    return static_cast<ssize_t>(count);
}

ssize_t SshSession::send(int /*socket*/, const void* bytes, std::size_t size, int /*flags*/, void** self) {
    auto& session = *static_cast<SshSession*>(*self);
    if (session.broken_) {
        return -EPIPE;
    }
    const auto* begin = static_cast<const char*>(bytes);
    const auto sent = session.out_.empty() ? session.send_now(begin, size) : 0;
    if (sent < size) {
        session.out_.append(begin + sent, size - sent);
        if (!std::exchange(session.sending_, true)) {
            boost::asio::co_spawn(session.executor_, send_rest(session.shared_from_this()),
                                  boost::asio::detached);
        }
    }
    return static_cast<ssize_t>(size);
}

void SshSession::hung_up(LIBSSH2_SESSION* /*session*/, int /*reason*/, const char* message, int message_size,
                         const char* /*language*/, int /*language_size*/, void** self) {
    if (message != nullptr && message_size > 0) {
        static_cast<SshSession*>(*self)->farewell_ =
            printable({message, static_cast<std::size_t>(message_size)});
    }
}

// What the socket takes at once. A broken one is found out by whoever receives.
std::size_t SshSession::send_now(const char* bytes, std::size_t size) {
    const auto count = ::send(socket_.native_handle(), bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
}

Task<void> SshSession::send_rest(std::shared_ptr<SshSession> self) {
    while (!self->out_.empty() && !self->broken_) {
        const auto [error] = co_await self->socket_.async_wait(
            Socket::wait_write, boost::asio::as_tuple(boost::asio::use_awaitable));
        if (self->broken_) {
            break;
        }
        const auto sent = self->send_now(self->out_.data(), self->out_.size());
        if (error || (sent == 0 && errno != EAGAIN)) {
            self->end(lost(self->where_, error ? error.message() : std::strerror(errno)));
            break;
        }
        self->out_.erase(0, sent);
        if (self->out_.size() < held_outbound / 2) { // not for each packet
            self->room_.notify();
        }
    }
    self->sending_ = false;
}

Task<void> SshSession::receive_all(std::shared_ptr<SshSession> self) {
    std::vector<char> buffer(receive_buffer);
    while (!self->broken_) {
        const auto [error, count] = co_await self->socket_.async_read_some(
            boost::asio::buffer(buffer), boost::asio::as_tuple(boost::asio::use_awaitable));
        if (self->broken_) {
            break;
        }
        if (error) {
            const bool hung_up = error == boost::asio::error::eof;
            const auto complaint = self->proxy_ ? self->proxy_->complaint() : std::string();
            self->end(lost(self->where_, !self->farewell_.empty() ? self->farewell_
                                         : !complaint.empty()     ? printable(complaint)
                                         : hung_up                ? "it was closed from the other side"
                                                                  : error.message()));
            break;
        }
        self->heard_ = true;
        self->acknowledge_at_once();
        self->in_.append(buffer.data(), count);
        self->take_in_packets();
        self->progress_.notify();
        while (!self->broken_ && self->in_.size() - self->in_at_ > held_inbound) {
            co_await self->taken_.wait_for_change();
        }
    }
}

// sshd leaves Nagle's algorithm on where no terminal is: its second small packet waits until the first one is
// acknowledged, for which the kernel takes 40 ms unless it is told otherwise, again and again (tcp(7)).
void SshSession::acknowledge_at_once() {
    const int on = 1;
    ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_QUICKACK, &on,
                 sizeof on); // a proxy's socket refuses
}

// Lets libssh2 see what came: its packets go to the queues of their channels, and what asks for an answer
// gets it, also while no channel is being read. A read of nothing from any channel does that.
void SshSession::take_in_packets() {
    auto* const any = !channels_.empty() ? channels_.front()
                      : !dying_.empty()  ? dying_.front().channel
                                         : nullptr;
    if (any == nullptr) {
        return;
    }
    char nothing = 0;
    const auto result = ::libssh2_channel_read_ex(any, 0, &nothing, 0);
    if (result < 0 && result != LIBSSH2_ERROR_EAGAIN) {
        end(lost(where_, farewell_));
        return;
    }
    bury_the_dead();
}

Task<Status> SshSession::progress() {
    if (!broken_) {
        co_await progress_.wait_for_change();
    }
    if (broken_) {
        co_return *broken_;
    }
    co_return ok;
}

Task<Status> SshSession::room_to_send() {
    while (!broken_ && out_.size() >= held_outbound) {
        co_await room_.wait_for_change();
    }
    if (broken_) {
        co_return *broken_;
    }
    co_return ok;
}

// --- signs of life ---

void SshSession::watch(std::chrono::seconds interval, int count) {
    // libssh2 sends only when its own interval, at least two seconds, has passed.
    ::libssh2_keepalive_config(raw_, 1, 2);
    boost::asio::co_spawn(executor_, keep_alive(shared_from_this(), std::max(interval, 2s), count),
                          boost::asio::detached);
}

Task<void> SshSession::keep_alive(std::shared_ptr<SshSession> self, std::chrono::seconds interval,
                                  int count) {
    int silent = 0;
    while (!self->broken_) {
        self->alive_.expires_after(interval);
        const auto [error] =
            co_await self->alive_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
        if (error || self->broken_) {
            break;
        }
        if (std::exchange(self->heard_, false)) {
            silent = 0;
            continue;
        }
        if (++silent > count) {
            self->end({ErrorKind::timeout, "",
                       fmt::format("the ssh connection to {} died: no sign of life for {} s", self->where_,
                                   interval.count() * silent),
                       "is the machine up, and the network to it?"});
            break;
        }
        int next = 0;
        (void)::libssh2_keepalive_send(self->raw_, &next);
    }
}

// --- channels ---

struct SshSession::Opening {
    explicit Opening(std::shared_ptr<SshSession> handle)
        : session(std::move(handle)), done(session->executor_) {}
    std::shared_ptr<SshSession> session;
    std::string type{};
    std::string message{}; // the channel's own part of the request
    std::string command{}; // to start on it; empty: none
    CommandPlace place{};
    AsyncEvent done;
    Result<Opened> result{Opened{}};
    bool abandoned = false;
};

Task<Result<SshLink::Opened>> SshSession::open_socket(std::shared_ptr<SshLink> self, std::string path) {
    const auto opening = std::make_shared<Opening>(std::static_pointer_cast<SshSession>(self));
    opening->type = "direct-streamlocal@openssh.com";
    put_string(opening->message, path);
    put_string(opening->message, "");
    put_u32(opening->message, 0);
    return open(opening);
}

Task<Result<SshLink::Opened>> SshSession::open_command(std::shared_ptr<SshLink> self, std::string command,
                                                       CommandPlace place) {
    const auto opening = std::make_shared<Opening>(std::static_pointer_cast<SshSession>(self));
    opening->place = std::move(place);
    opening->type = "session";
    opening->command = std::move(command);
    return open(opening);
}

// What is half open has to be opened to its end: the next opening would get its answer. So a caller that is
// cancelled leaves it to itself.
Task<Result<SshLink::Opened>> SshSession::open(std::shared_ptr<Opening> opening) {
    boost::asio::co_spawn(opening->session->executor_, run_opening(opening), boost::asio::detached);
    struct Guard {
        std::shared_ptr<Opening> opening;
        ~Guard() { opening->abandoned = true; }
    };
    const Guard guard{opening};
    co_await opening->done.wait();
    co_return std::move(opening->result);
}

Task<void> SshSession::run_opening(std::shared_ptr<Opening> opening) {
    const auto session = opening->session;
    const auto permit = co_await session->opening_.acquire();
    if (session->broken_) {
        opening->result = *session->broken_;
    } else if (!opening->abandoned) {
        boost::asio::steady_timer deadline(session->executor_, open_limit);
        deadline.async_wait([weak = std::weak_ptr(opening)](boost::system::error_code error) {
            const auto late = weak.lock();
            if (!error && late && !late->done.is_set()) {
                late->session->end({ErrorKind::timeout, "",
                                    fmt::format("{} did not answer the opening of a channel within {} s",
                                                late->session->where_, open_limit.count()),
                                    "is sshd on that machine stuck? try `ssh` by hand"});
            }
        });
        opening->result = co_await do_open(opening);
        session->knocking_.release();
    }
    opening->done.set();
}

Task<Result<SshLink::Opened>> SshSession::do_open(std::shared_ptr<Opening> opening) {
    const auto self = opening->session;
    LIBSSH2_CHANNEL* channel = nullptr;
    const auto code = co_await self->repeat([&] {
        channel = ::libssh2_channel_open_ex(
            self->raw_, opening->type.data(), static_cast<unsigned>(opening->type.size()), window, packet,
            opening->message.data(), static_cast<unsigned>(opening->message.size()));
        return channel != nullptr ? 0 : ::libssh2_session_last_errno(self->raw_);
    });
    CO_TRY(code);
    if (channel == nullptr) {
        char* text = nullptr;
        ::libssh2_session_last_error(self->raw_, &text, nullptr, 0);
        if (*code == LIBSSH2_ERROR_CHANNEL_FAILURE) {
            co_return Opened{nullptr, text};
        }
        self->end(lost(self->where_, self->farewell_.empty() ? text : self->farewell_));
        co_return *self->broken_;
    }
    self->channels_.push_back(channel);
    auto stream = std::make_unique<SshChannel>(self, channel, std::move(opening->place));
    if (!opening->command.empty()) {
        const auto started = co_await self->repeat([&] {
            return ::libssh2_channel_process_startup(channel, "exec", 4, opening->command.data(),
                                                     static_cast<unsigned>(opening->command.size()));
        });
        CO_TRY(started);
        if (*started != 0) {
            co_return Opened{nullptr, "the server starts no commands"};
        }
    }
    co_return Opened{std::move(stream), ""};
}

void SshSession::bury(LIBSSH2_CHANNEL* channel, CommandPlace place) {
    std::erase(channels_, channel);
    if (!broken_) { // else they all go with the session
        dying_.push_back({channel, std::move(place)});
        bury_the_dead();
    }
}

void SshSession::bury_the_dead() {
    std::erase_if(dying_, [](const Dying& dying) {
        return ::libssh2_channel_free(dying.channel) != LIBSSH2_ERROR_EAGAIN;
    });
}

} // namespace dockdist
