#include "client/job/nonblocking_sink.hpp"

#include "client/async/pause.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist {
namespace {

constexpr std::size_t small_write = 256; // what a descriptor that is ready takes at once, or nearly always

bool is_ready(int fd) {
    pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
    return ::poll(&waiting, 1, 0) > 0;
}

} // namespace

NonblockingSink::NonblockingSink(boost::asio::any_io_executor executor)
    : executor_(std::move(executor)), changed_(executor_) {}

NonblockingSink::~NonblockingSink() {
    for (auto& [fd, outlet] : outlets_) {
        write_some(outlet, false);
        if (outlet.is_own) {
            ::close(outlet.fd);
        }
    }
}

// O_NONBLOCK on the given descriptor would be seen by every process that shares it, the shell among them; so
// pipes and terminals are opened anew. A regular file never makes its writer wait.
NonblockingSink::Outlet& NonblockingSink::outlet(int fd) {
    const auto [entry, is_new] = outlets_.try_emplace(fd);
    auto& outlet = entry->second;
    if (!is_new) {
        return outlet;
    }
    outlet.fd = fd;
    struct stat status{};
    if (::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) {
        const auto path = "/proc/self/fd/" + std::to_string(fd);
        const int again = S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)
                              ? ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                              : -1;
        outlet.is_own = again >= 0;
        outlet.fd = outlet.is_own ? again : fd;
        outlet.may_block = !outlet.is_own && (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
    }
    return outlet;
}

void NonblockingSink::write_some(Outlet& outlet, bool wait) {
    std::size_t done = 0;
    while (done < outlet.unwritten.size() && !outlet.broken) {
        const auto left = outlet.unwritten.size() - done;
        if (outlet.may_block && !wait && !is_ready(outlet.fd)) {
            break;
        }
        const auto count = ::write(outlet.fd, outlet.unwritten.data() + done,
                                   outlet.may_block && !wait ? std::min(left, small_write) : left);
        if (count >= 0) {
            done += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN && wait) {
            pollfd waiting{.fd = outlet.fd, .events = POLLOUT, .revents = 0};
            ::poll(&waiting, 1, -1);
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            outlet.broken = true;
        }
    }
    outlet.unwritten.erase(0, outlet.broken ? std::string::npos : done);
}

void NonblockingSink::write(int fd, const Displayable& text) {
    auto& out = outlet(fd);
    out.unwritten += text.bytes();
    write_some(out, false);
}

std::size_t NonblockingSink::kept() const {
    std::size_t total = 0;
    for (const auto& [fd, outlet] : outlets_) {
        total += outlet.unwritten.size();
    }
    return total;
}

Task<void> NonblockingSink::wait_until_writable(const Outlet& outlet) {
    if (!outlet.is_own) { // Asio would make it non-blocking, for those who share it as well
        co_return co_await pause_for(std::chrono::milliseconds(20));
    }
    const int copy = ::fcntl(outlet.fd, F_DUPFD_CLOEXEC, 3);
    boost::asio::posix::stream_descriptor descriptor(executor_);
    boost::system::error_code error;
    if (copy < 0 || (descriptor.assign(copy, error), error)) {
        co_return; // what cannot be waited for is never busy
    }
    co_await descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                                   boost::asio::as_tuple(boost::asio::use_awaitable));
}

Task<void> NonblockingSink::room() {
    struct Turn {
        explicit Turn(NonblockingSink& owner) : sink(owner) { sink.waited_for_ = true; }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        ~Turn() {
            sink.waited_for_ = false;
            sink.changed_.notify();
        }
        NonblockingSink& sink;
    };
    while (kept() > 0) {
        if (waited_for_) {
            co_await changed_.wait_for_change();
            continue;
        }
        const Turn turn(*this);
        for (auto& [fd, outlet] : outlets_) {
            if (!outlet.unwritten.empty()) {
                co_await wait_until_writable(outlet);
                write_some(outlet, false);
            }
        }
    }
}

void NonblockingSink::finish() {
    for (auto& [fd, outlet] : outlets_) {
        write_some(outlet, true);
    }
}

} // namespace dockdist
