#include "probe/control.hpp"

#include "probe/order.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace dockdist::probe {
namespace {

constexpr auto patience =
    std::chrono::seconds(2); // with a main thread that knows that it is late, and aborts

void pause() {
    (void)poll(nullptr, 0, 1);
}

} // namespace

Control::Control(Output& output) : output_(output) {
    std::thread([this] { watch(); }).detach();
}

void Control::set_deadline(std::string where, std::chrono::milliseconds from_now) {
    const std::lock_guard lock(mutex_);
    where_ = std::move(where);
    given_ = from_now;
    deadline_ = Clock::now() + from_now;
}

bool Control::late() const {
    const std::lock_guard lock(mutex_);
    return Clock::now() >= deadline_;
}

void Control::doing(std::string what) {
    const std::lock_guard lock(mutex_);
    doing_ = std::move(what);
}

Error Control::lateness() const {
    const std::lock_guard lock(mutex_);
    return Error{
        .kind = ErrorKind::timeout,
        .where = where_,
        .message =
            doing_ + " had not ended when the deadline of " + std::to_string(given_.count()) + " ms passed",
        .hint = "a rank that never came, died or cannot be reached keeps the others waiting: which one has "
                "another error, and do the nodes reach each other on the interface that NCCL chose?"};
}

Result<std::string> Control::next_line() {
    while (true) {
        {
            const std::lock_guard lock(mutex_);
            if (!lines_.empty()) {
                auto line = std::move(lines_.front());
                lines_.pop_front();
                return line;
            }
        }
        if (late()) {
            return lateness();
        }
        pause();
    }
}

void Control::take(std::string_view bytes) {
    const std::lock_guard lock(mutex_);
    partial_ += bytes;
    for (auto end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n')) {
        lines_.push_back(partial_.substr(0, end));
        partial_.erase(0, end + 1);
    }
    if (partial_.size() > wire::max_line) {
        partial_.clear();
        lines_.emplace_back(); // which is no order, and says so
    }
}

void Control::end_soon(int code) {
    const std::lock_guard lock(mutex_);
    code_ = code;
    deadline_ = Clock::now();
}

// False at the end of stdin, once the result is told: then only the main thread's end is waited for.
bool Control::read_more() {
    std::array<char, 4096> bytes{};
    const auto count = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (count > 0) {
        take({bytes.data(), static_cast<std::size_t>(count)});
        return true;
    }
    if (count < 0 && errno == EINTR) {
        return true;
    }
    const Error gone{.kind = ErrorKind::interrupted,
                     .message = "stdin has ended: who started the probe is gone",
                     .hint = "keep the probe's stdin open until its result is there"};
    if (output_.fail(gone)) {
        _exit(exit_code(gone));
    }
    return false;
}

void Control::end_if_stuck() {
    std::optional<int> code;
    {
        const std::lock_guard lock(mutex_);
        if (deadline_ == Clock::time_point::max() || Clock::now() < deadline_ + patience) {
            return;
        }
        code = code_;
    }
    const auto error = lateness();
    (void)output_.fail(error);
    _exit(code.value_or(exit_code(error)));
}

void Control::watch() {
    for (bool reads = true;;) {
        pollfd input{.fd = reads ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0};
        if (poll(&input, 1, 100) > 0) {
            reads = read_more();
        }
        end_if_stuck();
    }
}

} // namespace dockdist::probe
