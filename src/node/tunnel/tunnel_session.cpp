#include "node/tunnel/tunnel_session.hpp"

#include "node/session/session.hpp"
#include "node/system/os.hpp"
#include "node/system/process.hpp"
#include "shared/core/exit_codes.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::size_t piece = 256U << 10U;          // of one read
constexpr std::size_t most_for_client = 1U << 20U;  // for the client, before sockets are read no more
constexpr std::size_t little_waiting = 256U << 10U; // until they are again
constexpr std::size_t least_share = 16U << 10U;     // of a round, however many there are
constexpr int wider_pipe = 1 << 20;                 // bytes; the kernel's default limit for who is not root

bool may_come_again(ssize_t count) {
    return count < 0 && (errno == EAGAIN || errno == EINTR);
}

// Whether closing it is heard as no end in order, and drops what is on its way.
void let_close_break_off(int socket, bool does) {
    const linger value{.l_onoff = does ? 1 : 0, .l_linger = 0};
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &value, sizeof value);
}

} // namespace

TunnelSession::TunnelSession(Loop& loop, int input, int output, wire::TunnelAsk ask)
    : loop_(loop), input_(input), output_(output), ask_(ask), last_heard_ms_(loop.now_ms()), buffer_(piece) {
    set_nonblocking(output_);
    for (const int fd : {input_, output_}) { // fewer turns; what is no pipe stays as it is
        (void)::fcntl(fd, F_SETPIPE_SZ, wider_pipe);
    }
    loop_.watch(input_, POLLIN, [this](short) { read_client(); });
    loop_.watch(output_, 0,
                [this](short happened) { (happened & POLLERR) != 0 ? finish(0) : write_output(); });
    loop_.after_each_round([this] { after_round(); });
    watch_lease();
    channels_.hello();
}

TunnelSession::~TunnelSession() {
    loop_.after_each_round({});
    while (!connections_.empty()) {
        close(connections_.begin()->first);
    }
    loop_.forget(input_);
    loop_.forget(output_);
}

int TunnelSession::run() {
    after_round();
    loop_.run();
    return code_;
}

void TunnelSession::finish(int code) {
    code_ = code;
    loop_.stop();
}

void TunnelSession::watch_lease() {
    const auto left = last_heard_ms_ + ask_.lease_ms - loop_.now_ms();
    if (left <= 0) {
        return finish(0);
    }
    loop_.after(left, [this] { watch_lease(); });
}

void TunnelSession::read_client() {
    const auto count = ::read(input_, buffer_.data(), buffer_.size());
    if (may_come_again(count)) {
        return;
    }
    if (count <= 0) {
        return finish(0);
    }
    last_heard_ms_ = loop_.now_ms();
    const auto taken = channels_.take({buffer_.data(), static_cast<std::size_t>(count)},
                                      [this](const TunnelChannels::Event& event) { take(event); });
    if (!taken) {
        finish(end_with(taken.error().message, exit_codes::failed));
    }
}

void TunnelSession::take(const TunnelChannels::Event& event) {
    using Event = TunnelChannels::Event::Kind;
    if (event.kind == Event::open) {
        return open(event.channel, event.target);
    }
    const auto found = connections_.find(event.channel);
    if (found == connections_.end()) {
        return;
    }
    switch (event.kind) {
    case Event::data:
        take_data(event.channel, found->second, event.bytes);
        break;
    case Event::end:
        found->second.end_came = true;
        break;
    case Event::gone:
        return give_up(event.channel);
    case Event::window:
        return update(event.channel, found->second);
    default:
        return;
    }
    if (write_socket(event.channel, found->second)) {
        update(event.channel, found->second);
    }
}

// Straight on where nothing waits before it.
void TunnelSession::take_data(ChannelId id, Connection& connection, std::string_view bytes) {
    if (connection.incoming.view().empty()) {
        const auto count = ::send(connection.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        const auto sent =
            static_cast<std::size_t>(std::max<ssize_t>(count, 0)); // an error shows itself again
        bytes.remove_prefix(sent);
        channels_.consumed(id, sent, bytes.empty());
    }
    connection.incoming.feed(bytes);
}

void TunnelSession::open(ChannelId id, wire::TunnelTarget target) {
    if (target.is_path() != ask_.on_host) {
        return channels_.fail(id, {.kind = wire::TunnelFailure::Kind::denied,
                                   .message = ask_.on_host ? "this tunnel reaches unix sockets only"
                                                           : "this tunnel reaches no unix sockets"});
    }
    connections_[id].connector = std::make_unique<Connector>(
        loop_, std::move(target), ask_.own_peers,
        [this, id](Connector::Outcome outcome) { connected(id, std::move(outcome)); });
}

void TunnelSession::connected(ChannelId id, Connector::Outcome outcome) {
    auto& connection = connections_.at(id);
    done_.push_back(std::move(connection.connector)); // it is the one that calls
    if (!outcome.socket.open()) {
        channels_.fail(id, outcome.failure);
        connections_.erase(id);
        return;
    }
    connection.socket = std::move(outcome.socket);
    let_close_break_off(connection.socket.get(), true); // until its end: also where this process is killed
    connection.sends = true;
    channels_.accept(id);
    update(id, connection);
}

void TunnelSession::on_socket(ChannelId id, short happened) {
    auto& connection = connections_.at(id);
    const bool reads = (happened & (POLLIN | POLLHUP | POLLERR)) != 0 && connection.sends && !full_;
    if (reads && !read_socket(id, connection)) {
        return;
    }
    if (write_socket(id, connection)) {
        update(id, connection);
    }
}

// As much as the window and its share of the round allow: each that is ready is read before one is again.
// False: the connection is gone.
bool TunnelSession::read_socket(ChannelId id, Connection& connection) {
    const auto share = std::max(least_share, most_for_client / connections_.size());
    const auto most = std::min({channels_.room(id), buffer_.size(), share});
    if (most == 0) {
        return true;
    }
    const auto count = ::read(connection.socket.get(), buffer_.data(), most);
    if (may_come_again(count)) {
        return true;
    }
    if (count < 0) {
        give_up(id);
        return false;
    }
    if (count == 0) {
        connection.sends = false;
        channels_.end(id);
        return true;
    }
    channels_.send(id, {buffer_.data(), static_cast<std::size_t>(count)});
    return true;
}

// False: the connection is gone.
bool TunnelSession::write_socket(ChannelId id, Connection& connection) {
    auto& incoming = connection.incoming;
    while (connection.socket.open() && !incoming.view().empty()) {
        const auto bytes = incoming.view();
        const auto count = ::send(connection.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0 && errno == EAGAIN) {
            return true;
        }
        if (count < 0) {
            give_up(id);
            return false;
        }
        incoming.take(static_cast<std::size_t>(count));
        channels_.consumed(id, static_cast<std::size_t>(count), incoming.view().empty());
    }
    if (connection.socket.open() && incoming.view().empty() && connection.end_came &&
        !std::exchange(connection.shut, true)) {
        let_close_break_off(connection.socket.get(), false);
        ::shutdown(connection.socket.get(), SHUT_WR);
    }
    if (connection.shut && !connection.sends) {
        close(id);
        return false;
    }
    return true;
}

// A descriptor of which nothing is wanted is not watched: poll would report its end for ever.
void TunnelSession::update(ChannelId id, Connection& connection) {
    if (!connection.socket.open()) {
        return;
    }
    const bool reads = connection.sends && !full_ && channels_.room(id) > 0;
    const bool writes = !connection.incoming.view().empty();
    const auto events = static_cast<short>((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
    const bool watched = std::exchange(connection.watched, events != 0);
    if (events == 0) {
        loop_.forget(connection.socket.get());
    } else if (watched) {
        loop_.want(connection.socket.get(), events);
    } else {
        loop_.watch(connection.socket.get(), events, [this, id](short happened) { on_socket(id, happened); });
    }
}

void TunnelSession::update_all() {
    for (auto& [id, connection] : connections_) {
        update(id, connection);
    }
}

// The other end hears that it was no end in order.
void TunnelSession::give_up(ChannelId id) {
    channels_.reset(id);
    if (auto& socket = connections_.at(id).socket; socket.open()) {
        let_close_break_off(socket.get(), true);
    }
    close(id);
}

void TunnelSession::close(ChannelId id) {
    const auto found = connections_.find(id);
    if (found->second.socket.open()) {
        loop_.forget(found->second.socket.get());
    }
    connections_.erase(found);
}

void TunnelSession::write_output() {
    while (true) {
        if (sent_ == sending_.size()) {
            channels_.take_output(sending_);
            sent_ = 0;
            if (sending_.empty()) {
                break;
            }
        }
        const auto count = ::write(output_, sending_.data() + sent_, sending_.size() - sent_);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0 && errno == EAGAIN) {
            break;
        }
        if (count < 0) {
            return finish(0); // the client is gone
        }
        sent_ += static_cast<std::size_t>(count);
    }
    loop_.want(output_, sent_ < sending_.size() ? POLLOUT : 0);
}

std::size_t TunnelSession::waiting() const {
    return sending_.size() - sent_ + channels_.waiting();
}

void TunnelSession::after_round() {
    done_.clear();
    write_output();
    if (const bool full = waiting() > (full_ ? little_waiting : most_for_client); full != full_) {
        full_ = full;
        update_all();
    }
}

int run_tunnel(const std::string& text) {
    const auto ask = wire::parse_tunnel_ask(text);
    if (!ask) {
        return end_with(ask.error().message, exit_codes::wrong_input);
    }
    if (const auto became = ask->on_host ? Status(ok) : become(recorded_account()); !became) {
        return end_with(became.error().message, exit_codes::cannot_start);
    }
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGCHLD, SIG_IGN); // what looks names up, and is not waited for once it hangs, leaves nothing
    Loop loop;
    TunnelSession session(loop, STDIN_FILENO, STDOUT_FILENO, *ask);
    return session.run();
}

} // namespace dockdist::node
