#include "client/async/recurring.hpp"

#include <csignal>
#include <utility>

namespace dockdist {
namespace {

bool is_ignored(int signal) {
    struct sigaction now{};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

} // namespace

Ticker::Ticker(const boost::asio::any_io_executor& executor, std::chrono::milliseconds interval,
               std::function<void()> work)
    : timer_(executor), interval_(interval), work_(std::move(work)) {
    wait();
}

void Ticker::stop() {
    stopped_ = true;
    timer_.cancel();
}

void Ticker::wait() {
    timer_.expires_after(interval_);
    timer_.async_wait([this](boost::system::error_code error) {
        if (error || stopped_) {
            return;
        }
        work_();
        if (!stopped_) {
            wait();
        }
    });
}

SignalWatch::SignalWatch(const boost::asio::any_io_executor& executor, std::initializer_list<int> signals,
                         std::function<void()> work)
    : signals_(executor), work_(std::move(work)) {
    for (const int signal : signals) {
        if (!is_ignored(signal)) {
            signals_.add(signal);
        }
    }
    wait();
}

void SignalWatch::stop() {
    stopped_ = true;
    boost::system::error_code ignored;
    ignored = signals_.cancel(ignored);
}

void SignalWatch::wait() {
    signals_.async_wait([this](boost::system::error_code error, int) {
        if (error || stopped_) {
            return;
        }
        work_();
        if (!stopped_) {
            wait();
        }
    });
}

} // namespace dockdist
