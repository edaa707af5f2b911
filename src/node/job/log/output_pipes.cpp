#include "node/job/log/output_pipes.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t in_one_round =
    8U << 20U; // of all pipes together, so that orders and timers have their turn
constexpr std::size_t least_of_one = 4U << 10U;

} // namespace

void OutputPipes::watch(Fd& pipe, std::uint8_t stream, std::int32_t rank) {
    ++watched_;
    loop_.watch(pipe.get(), POLLIN, [this, &pipe, stream, rank](short) { (void)read(pipe, stream, rank); });
}

// How much came; the pipe is closed at its end.
std::size_t OutputPipes::read(Fd& pipe, std::uint8_t stream, std::int32_t rank) {
    const auto share =
        std::clamp(in_one_round / std::max<std::size_t>(watched_, 1), least_of_one, buffer_.size());
    const auto count = ::read(pipe.get(), buffer_.data(), share);
    if (count > 0) {
        const auto bytes = std::string_view(buffer_).substr(0, static_cast<std::size_t>(count));
        log_.append(stream, rank, bytes);
        if (on_output) {
            on_output(stream, rank, bytes);
        }
        return bytes.size();
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        forget(pipe);
    }
    return 0;
}

void OutputPipes::drain(Fd& pipe, std::uint8_t stream, std::int32_t rank) {
    int there = 0;
    if (!pipe.open() || ::ioctl(pipe.get(), FIONREAD, &there) != 0) {
        return;
    }
    for (auto left = static_cast<std::size_t>(std::max(there, 0)); left > 0 && pipe.open();) {
        const auto taken = read(pipe, stream, rank);
        left = taken == 0 ? 0 : left - std::min(left, taken);
    }
}

void OutputPipes::forget(Fd& pipe) {
    if (pipe.open()) {
        --watched_;
        loop_.forget(pipe.get());
        pipe.reset();
    }
}

} // namespace dockdist::node
