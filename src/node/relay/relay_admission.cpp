#include "node/relay/relay_admission.hpp"

#include <array>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>

namespace dockdist::node {

RelayAdmission::RelayAdmission(Loop& loop, Fd listener, AdmissionLimits limits, Meet meet, LetIn let_in)
    : loop_(loop), listener_(std::move(listener)), limits_(limits), meet_(std::move(meet)),
      let_in_(std::move(let_in)) {
    loop_.watch(listener_.get(), POLLIN, [this](short) { accept_one(); });
}

RelayAdmission::~RelayAdmission() {
    loop_.cancel(paused_);
    loop_.forget(listener_.get());
    while (!waiting_.empty()) {
        drop(waiting_.begin());
    }
}

void RelayAdmission::accept_one() {
    Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.open()) {
        // Of a connection that went away meanwhile, or of what is short for now: never the end.
        const bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED && !(is_short && drop_one())) {
            pause();
        }
        return;
    }
    if (waiting_.size() >= limits_.strangers) {
        drop_one();
    }
    const auto place = waiting_.insert(waiting_.end(), Waiting{std::move(connection), meet_()});
    place->limit = loop_.after(limits_.greeting_ms, [this, place] { drop(place); });
    loop_.watch(place->connection.get(), POLLIN, [this, place](short) { hear(place); });
}

// The listener stays ready as long as somebody waits there: without this the loop would spin.
void RelayAdmission::pause() {
    loop_.want(listener_.get(), 0);
    paused_ = loop_.after(limits_.accept_pause_ms, [this] { loop_.want(listener_.get(), POLLIN); });
}

void RelayAdmission::hear(Place place) {
    const int fd = place->connection.get();
    std::array<char, 4096> bytes{};
    const auto count = ::recv(fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count <= 0) {
        return drop(place);
    }
    if (place->leaving) {
        return;
    }
    std::string answer;
    const auto verdict = place->stranger->hear({bytes.data(), static_cast<std::size_t>(count)}, answer);
    // An answer is a few bytes, for which an honest connection has room.
    const bool answered =
        answer.empty() || ::send(fd, answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
                              static_cast<ssize_t>(answer.size());
    if (verdict == Stranger::Verdict::unknown && answered) {
        return;
    }
    if (verdict == Stranger::Verdict::send_away && answered && !answer.empty()) {
        // Closed with something unread, a connection is reset, and the answer may be lost with it.
        place->leaving = true;
        ::shutdown(fd, SHUT_WR);
        return;
    }
    auto let_in = std::move(*place);
    loop_.forget(fd);
    loop_.cancel(let_in.limit);
    waiting_.erase(place);
    if (verdict == Stranger::Verdict::let_in && answered) {
        let_in_(std::move(let_in.connection), std::move(let_in.stranger));
    }
}

void RelayAdmission::drop(Place place) {
    loop_.forget(place->connection.get());
    loop_.cancel(place->limit);
    waiting_.erase(place);
}

bool RelayAdmission::drop_one() {
    if (waiting_.empty()) {
        return false;
    }
    drop(waiting_.begin());
    return true;
}

} // namespace dockdist::node
