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
    for (auto& [fd, door] : doors_) {
        write_some(door, false);
        if (door.is_own) {
            ::close(door.fd);
        }
    }
}

// O_NONBLOCK on the given descriptor would be seen by every process that shares it, the shell among them; so
// pipes and terminals are opened anew. A regular file never makes its writer wait.
NonblockingSink::Door& NonblockingSink::door(int fd) {
    const auto [entry, is_new] = doors_.try_emplace(fd);
    auto& door = entry->second;
    if (!is_new) {
        return door;
    }
    door.fd = fd;
    struct stat status{};
    if (::fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) {
        const auto path = "/proc/self/fd/" + std::to_string(fd);
        const int again = S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)
                              ? ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                              : -1;
        door.is_own = again >= 0;
        door.fd = door.is_own ? again : fd;
        door.may_block = !door.is_own && (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
    }
    return door;
}

void NonblockingSink::write_some(Door& door, bool wait) {
    std::size_t done = 0;
    while (done < door.unwritten.size() && !door.broken) {
        const auto left = door.unwritten.size() - done;
        if (door.may_block && !wait && !is_ready(door.fd)) {
            break;
        }
        const auto count = ::write(door.fd, door.unwritten.data() + done,
                                   door.may_block && !wait ? std::min(left, small_write) : left);
        if (count >= 0) {
            done += static_cast<std::size_t>(count);
        } else if (errno == EAGAIN && wait) {
            pollfd waiting{.fd = door.fd, .events = POLLOUT, .revents = 0};
            ::poll(&waiting, 1, -1);
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            door.broken = true;
        }
    }
    door.unwritten.erase(0, door.broken ? std::string::npos : done);
}

void NonblockingSink::write(int fd, const Displayable& text) {
    auto& out = door(fd);
    out.unwritten += text.bytes();
    write_some(out, false);
}

std::size_t NonblockingSink::kept() const {
    std::size_t total = 0;
    for (const auto& [fd, door] : doors_) {
        total += door.unwritten.size();
    }
    return total;
}

Task<void> NonblockingSink::wait_until_writable(const Door& door) {
    if (!door.is_own) { // Asio would make it non-blocking, for those who share it as well
        co_return co_await pause_for(std::chrono::milliseconds(20));
    }
    const int copy = ::fcntl(door.fd, F_DUPFD_CLOEXEC, 3);
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
        for (auto& [fd, door] : doors_) {
            if (!door.unwritten.empty()) {
                co_await wait_until_writable(door);
                write_some(door, false);
            }
        }
    }
}

void NonblockingSink::finish() {
    for (auto& [fd, door] : doors_) {
        write_some(door, true);
    }
}

} // namespace dockdist
