#include "node/system/last_words.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <unistd.h>

namespace dockdist::node {

void LastWords::listen(Fd pipe) {
    stop();
    text_.clear();
    pipe_ = std::move(pipe);
    set_nonblocking(pipe_.get());
    loop_.watch(pipe_.get(), POLLIN, [this](short) { read_some(); });
}

void LastWords::read_rest() {
    if (pipe_.open()) {
        read_some();
    }
}

void LastWords::read_some() {
    char bytes[65536]; // as much as a pipe holds
    const auto count = ::read(pipe_.get(), bytes, sizeof bytes);
    if (count > 0) {
        text_.append(bytes, static_cast<std::size_t>(count));
        text_.erase(0, text_.size() - std::min(text_.size(), kept_));
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        stop();
    }
}

void LastWords::stop() {
    if (pipe_.open()) {
        loop_.forget(pipe_.get());
        pipe_.reset();
    }
}

} // namespace dockdist::node
