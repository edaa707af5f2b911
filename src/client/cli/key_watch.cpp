#include "client/cli/key_watch.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>

#include <algorithm>
#include <array>
#include <csignal>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>
#include <utility>

namespace dockdist {
namespace {

bool in_foreground() {
    return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

} // namespace

// Handlers hold it: one whose event has come is called after its watch is gone.
struct KeyWatch::State : std::enable_shared_from_this<KeyWatch::State> {
    State(const boost::asio::any_io_executor& executor, std::function<void(std::string_view)> then)
        : work(std::move(then)), input(executor), continued(executor, SIGCONT) {}

    void enter() {
        termios mode{};
        if (!in_foreground() || ::tcgetattr(STDIN_FILENO, &mode) != 0) {
            return;
        }
        if (!entered) { // else it may be our own, where whoever continued us has put nothing back
            saved = mode;
        }
        mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        mode.c_cc[VMIN] = 1;
        mode.c_cc[VTIME] = 0;
        entered = ::tcsetattr(STDIN_FILENO, TCSANOW, &mode) == 0;
        if (entered && !waiting) {
            wait();
        }
    }

    void leave() {
        stopped = true;
        boost::system::error_code ignored;
        ignored = input.close(ignored);
        ignored = continued.cancel(ignored);
        if (entered && in_foreground()) {
            ::tcsetattr(STDIN_FILENO, TCSADRAIN, &saved);
        }
    }

    void wait() {
        waiting = true;
        input.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](boost::system::error_code error) {
                             self->waiting = false;
                             if (!error && !self->stopped && in_foreground()) {
                                 self->read();
                             }
                         });
    }

    void read() {
        std::array<char, 256> typed{};
        const auto count = ::read(input.native_handle(), typed.data(), typed.size());
        if (count <= 0) {
            return;
        }
        wait();
        work({typed.data(), static_cast<std::size_t>(count)});
    }

    // After Ctrl-Z the shell has put its own mode back.
    void await_return() {
        continued.async_wait([self = shared_from_this()](boost::system::error_code error, int) {
            if (!error && !self->stopped) {
                self->enter();
                self->await_return();
            }
        });
    }

    std::function<void(std::string_view)> work;
    boost::asio::posix::stream_descriptor input;
    boost::asio::signal_set continued;
    termios saved{};
    bool entered = false;
    bool waiting = false;
    bool stopped = false;
};

KeyLine::Heard KeyLine::hear(std::string_view typed) {
    constexpr std::size_t longest = 4096; // a terminal's own line
    for (const char c : typed) {
        if (c == '\n' || c == '\r') {
            if (line_.size() == 1 && line_.front() == key_) {
                line_.clear();
                return Heard::entered;
            }
            line_.clear();
        } else if (c == '\x7f' || c == '\b') { // Backspace
            line_.resize(line_.size() - std::min<std::size_t>(line_.size(), 1));
        } else if (c == '\x15') { // Ctrl-U
            line_.clear();
        } else if (line_.size() < longest) {
            line_ += c;
        }
    }
    const bool alone = line_.size() == 1 && line_.front() == key_ && typed.ends_with(key_);
    return alone ? Heard::pressed : Heard::nothing;
}

KeyWatch::KeyWatch(const boost::asio::any_io_executor& executor, char key, std::function<void()> pressed,
                   std::function<void()> entered) {
    if (::isatty(STDERR_FILENO) == 0) {
        return;
    }
    begin(executor, [line = KeyLine(key), pressed = std::move(pressed),
                     entered = std::move(entered)](std::string_view typed) mutable {
        switch (line.hear(typed)) {
        case KeyLine::Heard::nothing:
            break;
        case KeyLine::Heard::pressed:
            return pressed();
        case KeyLine::Heard::entered:
            return entered();
        }
    });
}

KeyWatch::KeyWatch(const boost::asio::any_io_executor& executor,
                   std::function<void(std::string_view bytes)> work) {
    begin(executor, std::move(work));
}

void KeyWatch::begin(const boost::asio::any_io_executor& executor,
                     std::function<void(std::string_view)> work) {
    if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) {
        return;
    }
    // Opened anew: Asio makes its descriptors non-blocking, which would outlive us on a description that we
    // share.
    const int terminal = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0) {
        return;
    }
    state_ = std::make_shared<State>(executor, std::move(work));
    state_->input.assign(terminal);
    state_->enter();
    state_->await_return();
}

KeyWatch::~KeyWatch() {
    if (state_) {
        state_->leave();
    }
}

bool KeyWatch::watches() const {
    return state_ != nullptr;
}

} // namespace dockdist
