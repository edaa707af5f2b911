#include "node/gpus/board_watch.hpp"

#include "node/system/paths.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <sys/inotify.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t settle_ms = 5; // several changes come together
// The kernel tells of a descriptor's end before it drops its locks.
constexpr std::int64_t late_ms = 200;
constexpr std::int64_t deaf_ms = 5; // whoever makes many files in the folder does not keep us busy
constexpr std::int64_t poll_ms = 250;
constexpr int polls_to_a_look = 8;
constexpr std::int64_t by_and_by_ms = 30000;

struct Heard {
    bool board = false;
    bool end = false;
};

Heard read_events(int inotify) {
    Heard heard;
    alignas(inotify_event) std::array<char, 65536> buffer{};
    const auto count = ::read(inotify, buffer.data(), buffer.size());
    for (ssize_t at = 0; at < count;) {
        inotify_event event{};
        std::memcpy(&event, buffer.data() + at, sizeof event);
        const std::string_view name(event.len > 0 ? buffer.data() + at + sizeof event : "");
        heard.board = heard.board || name == "board.json";
        heard.end = heard.end || name == "lock" || (event.mask & IN_Q_OVERFLOW) != 0;
        at += static_cast<ssize_t>(sizeof event + event.len);
    }
    return heard;
}

} // namespace

BoardWatch::BoardWatch(Loop& loop, std::function<void()> on_change, Way way)
    : loop_(loop), on_change_(std::move(on_change)), called_at_ms_(loop.now_ms()) {
    if (way == Way::any) {
        inotify_ = Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    }
    if (inotify_.open() && ::inotify_add_watch(inotify_.get(), paths().gpus.c_str(),
                                               IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR) >= 0) {
        loop_.watch(inotify_.get(), POLLIN, [this](short) { hear(); });
    } else {
        inotify_.reset();
        poll_ = loop_.after(poll_ms, [this] { poll(); });
    }
    call_by_and_by();
}

BoardWatch::~BoardWatch() {
    for (const auto timer : {due_, again_, poll_, listen_, by_and_by_}) {
        loop_.cancel(timer);
    }
    loop_.forget(inotify_.get());
}

void BoardWatch::hear() {
    const auto heard = read_events(inotify_.get());
    loop_.want(inotify_.get(), 0);
    listen_ = loop_.after(deaf_ms, [this] { loop_.want(inotify_.get(), POLLIN); });
    if (heard.board || heard.end) {
        call_within(settle_ms);
    }
    if (heard.end) {
        loop_.cancel(again_);
        again_ = loop_.after(late_ms, [this] { call_within(0); });
    }
}

void BoardWatch::poll() {
    poll_ = loop_.after(poll_ms, [this] { poll(); });
    struct stat now{};
    (void)::lstat((paths().gpus + "/board.json").c_str(), &now);
    const bool changed = now.st_ino != last_.st_ino || now.st_mtim.tv_sec != last_.st_mtim.tv_sec ||
                         now.st_mtim.tv_nsec != last_.st_mtim.tv_nsec;
    last_ = now;
    if (++polls_ % polls_to_a_look == 0 || changed) {
        call_within(0);
    }
}

void BoardWatch::call_within(std::int64_t milliseconds) {
    const auto at = std::max(loop_.now_ms() + milliseconds, called_at_ms_ + pause_ms_);
    if (due_ != 0 && due_at_ms_ <= at) {
        return;
    }
    loop_.cancel(due_);
    due_at_ms_ = at;
    due_ = loop_.after(at - loop_.now_ms(), [this] { call(); });
}

void BoardWatch::call() {
    due_ = 0;
    called_at_ms_ = loop_.now_ms();
    const auto on_change = on_change_; // it may destroy this object
    on_change();
}

void BoardWatch::call_by_and_by() {
    by_and_by_ = loop_.after(by_and_by_ms, [this] {
        call_by_and_by();
        call_within(0);
    });
}

} // namespace dockdist::node
