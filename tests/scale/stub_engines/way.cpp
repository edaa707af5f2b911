#include "scale/stub_engines/way.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

namespace dockdist::scale {
namespace {

constexpr std::size_t most_under_way = 4U << 20U;

} // namespace

Task<void> wait_until(Clock::time_point time) {
    if (time > Clock::now()) {
        boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, time);
        co_await timer.async_wait(boost::asio::use_awaitable);
    }
}

Clock::time_point Way::carry(std::size_t bytes, Clock::time_point& free) const {
    free = std::max(free, Clock::now());
    if (bandwidth != 0) {
        free += std::chrono::nanoseconds(bytes * 1'000'000'000 / bandwidth);
    }
    return free + round_trip / 2;
}

Task<void> UnderWay::put(Clock::time_point due, std::string bytes) {
    while (bytes_ > most_under_way && !deaf_) {
        co_await changed_.wait_for_change();
    }
    if (!deaf_) {
        bytes_ += bytes.size();
        pieces_.emplace_back(due, std::move(bytes));
        changed_.notify();
    }
}

void UnderWay::end() {
    ended_ = true;
    changed_.notify();
}

Task<void> UnderWay::deliver(std::function<Task<bool>(std::string)> take) {
    while (!deaf_ && !(ended_ && pieces_.empty())) {
        if (pieces_.empty()) {
            co_await changed_.wait_for_change();
            continue;
        }
        co_await wait_until(pieces_.front().first);
        std::string bytes;
        while (!pieces_.empty() && pieces_.front().first <= Clock::now()) {
            bytes += pieces_.front().second;
            pieces_.pop_front();
        }
        bytes_ -= bytes.size();
        deaf_ = !co_await take(std::move(bytes));
        changed_.notify();
    }
    pieces_.clear();
    bytes_ = 0;
}

} // namespace dockdist::scale
