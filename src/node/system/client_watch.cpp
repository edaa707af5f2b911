#include "node/system/client_watch.hpp"

#include <unistd.h>

namespace dockdist::node {

ClientWatch::ClientWatch(Loop& loop, std::int64_t silence_ms)
    : loop_(loop), silence_ms_(silence_ms), last_heard_ms_(loop.now_ms()) {
    loop_.watch(STDIN_FILENO, POLLIN, [this](short) { hear(); });
    watch_silence();
}

ClientWatch::~ClientWatch() {
    loop_.cancel(timer_);
    loop_.forget(STDIN_FILENO);
}

void ClientWatch::hear() {
    char buffer[4096];
    if (const auto count = ::read(STDIN_FILENO, buffer, sizeof buffer); count <= 0) {
        return loop_.stop();
    }
    last_heard_ms_ = loop_.now_ms();
}

void ClientWatch::watch_silence() {
    const auto left = last_heard_ms_ + silence_ms_ - loop_.now_ms();
    if (left <= 0) {
        return loop_.stop();
    }
    timer_ = loop_.after(left, [this] { watch_silence(); });
}

} // namespace dockdist::node
