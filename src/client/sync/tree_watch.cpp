#include "client/sync/tree_watch.hpp"

#include "client/async/with_timeout.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <sys/inotify.h>
#include <unistd.h>

namespace dockdist {
namespace {

constexpr std::chrono::milliseconds quiet{100};
constexpr std::chrono::seconds longest{1};
constexpr std::uint32_t events = IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_CREATE | IN_DELETE |
                                 IN_ATTRIB | IN_MODIFY | IN_ONLYDIR | IN_DONT_FOLLOW;

Task<Result<Ok>> wait_for_input(boost::asio::posix::stream_descriptor& input) {
    co_await input.async_wait(boost::asio::posix::stream_descriptor::wait_read, boost::asio::use_awaitable);
    co_return ok;
}

} // namespace

TreeWatch::TreeWatch(const boost::asio::any_io_executor& executor) : inotify_(executor) {
    const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) {
        error_ = errno;
    } else {
        inotify_.assign(fd);
    }
}

Status TreeWatch::add(const std::string& folder) {
    const int watch = ::inotify_add_watch(inotify_.native_handle(), folder.c_str(), events);
    if (watch >= 0) {
        watches_.insert(watch); // a folder that was made anew has a new number
        return ok;
    }
    if (errno != ENOENT && errno != ENOTDIR) {
        auto error = tree_error("cannot watch " + printable(folder), errno);
        if (errno == ENOSPC) {
            error.message = "cannot watch " + printable(folder) + ": the limit of inotify watches is reached";
            error.hint = "raise it: `sysctl fs.inotify.max_user_watches=524288`; or ignore big folders";
        }
        return error;
    }
    return ok;
}

Result<bool> TreeWatch::watch(const LocalTree& tree) {
    const auto before = watches_.size();
    if (error_ != 0) {
        return tree_error("cannot watch files", error_);
    }
    TRY(add(tree.path));
    for (const auto& entry : tree.entries) {
        if (entry.type == wire::TreeEntry::Type::folder) {
            TRY(add(tree.path + "/" + entry.name));
        }
    }
    return watches_.size() != before;
}

bool TreeWatch::drain() {
    std::array<char, 16384> buffer{};
    bool any = false;
    while (::read(inotify_.native_handle(), buffer.data(), buffer.size()) > 0) {
        any = true;
    }
    return any;
}

Task<Status> TreeWatch::changed() {
    do {
        co_await wait_for_input(inotify_);
    } while (!drain());
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < longest) {
        const auto more = co_await with_timeout(wait_for_input(inotify_), quiet, Error{});
        if (!more || !drain()) {
            break;
        }
    }
    co_return ok;
}

} // namespace dockdist
