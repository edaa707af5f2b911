#include "client/engine/transport/ssh/channel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

constexpr std::size_t largest_write = 32 * 1024;

Error closed_by_us() {
    return {ErrorKind::unreachable, "", "the connection to the engine was closed", ""};
}

Error closed_by_peer() {
    return {ErrorKind::unreachable, "", "the connection to the engine was lost: the engine closed it", ""};
}

Error strange(std::ptrdiff_t code) {
    return {ErrorKind::protocol, "",
            fmt::format("a channel of the ssh connection failed (libssh2: {})", code), ""};
}

// The peer takes no more. libssh2 has no question for that but this one.
bool is_closed_by_peer(LIBSSH2_CHANNEL* channel) {
    return ::libssh2_channel_wait_closed(channel) == 0;
}

} // namespace

SshChannel::SshChannel(std::shared_ptr<SshSession> session, LIBSSH2_CHANNEL* channel,
                       SshSession::CommandPlace place)
    : shared_(std::make_shared<Shared>(Shared{std::move(session), channel, std::move(place)})) {}

SshChannel::~SshChannel() {
    close();
}

void SshChannel::close() noexcept {
    if (auto* const channel = std::exchange(shared_->channel, nullptr)) {
        shared_->session->bury(channel, std::exchange(shared_->place, nullptr));
        shared_->session->progress_.notify();
        shared_->session->room_.notify();
    }
}

Status SshChannel::usable(const Shared& shared) {
    if (shared.session->broken()) {
        return *shared.session->broken();
    }
    if (shared.channel == nullptr) {
        return closed_by_us();
    }
    return ok;
}

Task<Result<std::size_t>> SshChannel::read_some(std::span<char> buffer) {
    return read_some(shared_, buffer);
}

Task<Result<std::size_t>> SshChannel::read_some(std::shared_ptr<Shared> shared, std::span<char> buffer) {
    while (true) {
        CO_TRY(usable(*shared));
        const auto count = ::libssh2_channel_read_ex(shared->channel, 0, buffer.data(), buffer.size());
        if (count > 0) {
            shared->heard = true;
            co_return static_cast<std::size_t>(count);
        }
        if (count == 0) {
            co_return ended(*shared);
        }
        if (count != LIBSSH2_ERROR_EAGAIN) {
            co_return strange(count);
        }
        (void)co_await shared->session->progress();
    }
}

// The end of the stream; an error when a command had nothing to say but a complaint.
Result<std::size_t> SshChannel::ended(Shared& shared) {
    if (shared.place == nullptr || shared.heard) {
        return std::size_t{0};
    }
    std::array<char, 2048> text{};
    const auto count =
        ::libssh2_channel_read_ex(shared.channel, SSH_EXTENDED_DATA_STDERR, text.data(), text.size());
    return ended_silently(shared.session->where(),
                          std::string(text.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
}

Task<Status> SshChannel::write(std::span<const char> bytes) {
    return write(shared_, bytes);
}

Task<Status> SshChannel::write(std::shared_ptr<Shared> shared, std::span<const char> bytes) {
    while (!bytes.empty()) {
        (void)co_await shared->session->room_to_send();
        CO_TRY(usable(*shared));
        if (is_closed_by_peer(shared->channel)) {
            co_return closed_by_peer();
        }
        const auto count = ::libssh2_channel_write_ex(shared->channel, 0, bytes.data(),
                                                      std::min(bytes.size(), largest_write));
        if (count > 0) {
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        } else if (count == 0 || count == LIBSSH2_ERROR_EAGAIN) {
            (void)co_await shared->session->progress(); // the peer's window is full
        } else {
            co_return strange(count);
        }
    }
    co_return ok;
}

Task<Status> SshChannel::shutdown_send() {
    return shutdown_send(shared_);
}

Task<Status> SshChannel::shutdown_send(std::shared_ptr<Shared> shared) {
    while (true) {
        CO_TRY(usable(*shared));
        const int failure = ::libssh2_channel_send_eof(shared->channel);
        if (failure == 0) {
            co_return ok;
        }
        if (failure != LIBSSH2_ERROR_EAGAIN) {
            co_return strange(failure);
        }
        (void)co_await shared->session->progress();
    }
}

bool SshChannel::stale() {
    if (!usable(*shared_)) {
        return true;
    }
    char nothing = 0;
    const auto result = ::libssh2_channel_read_ex(shared_->channel, 0, &nothing, 0);
    unsigned long waiting = 0;
    (void)::libssh2_channel_window_read_ex(shared_->channel, &waiting, nullptr);
    return result != LIBSSH2_ERROR_EAGAIN || waiting > 0 || ::libssh2_channel_eof(shared_->channel) != 0;
}

} // namespace dockdist
