#include "node/job/log/output_pipes.hpp"

#include <cerrno>
#include <unistd.h>

namespace dockdist::node {

void OutputPipes::watch(const Fd& pipe, std::uint8_t stream, std::int32_t rank) {
    set_nonblocking(pipe.get());
    loop_.watch(pipe.get(), POLLIN, [this, &pipe, stream, rank](short) {
        if (!read(pipe, stream, rank)) {
            loop_.forget(pipe.get());
        }
    });
}

// False at the end of the stream.
bool OutputPipes::read(const Fd& pipe, std::uint8_t stream, std::int32_t rank) {
    const auto count = ::read(pipe.get(), buffer_.data(), buffer_.size());
    if (count > 0) {
        const auto bytes = std::string_view(buffer_).substr(0, static_cast<std::size_t>(count));
        log_.append(stream, rank, bytes);
        if (on_output) {
            on_output(stream, rank, bytes);
        }
        return true;
    }
    return count < 0 && (errno == EAGAIN || errno == EINTR);
}

void OutputPipes::drain(Fd& pipe, std::uint8_t stream, std::int32_t rank) {
    while (pipe.open()) {
        const auto before = log_.size();
        if (!read(pipe, stream, rank)) {
            forget(pipe);
        } else if (log_.size() == before) {
            return;
        }
    }
}

void OutputPipes::forget(Fd& pipe) {
    if (pipe.open()) {
        loop_.forget(pipe.get());
        pipe.reset();
    }
}

} // namespace dockdist::node
