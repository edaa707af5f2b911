// The way between a host and the client, as slow as the script says. Everything else about it is real:
// sockets, pipes, HTTP.
#pragma once

#include "client/async/async_event.hpp"
#include "client/async/task.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

namespace dockdist::scale {

using Clock = std::chrono::steady_clock;

Task<void> wait_until(Clock::time_point time);

// Of one host, for all its connections together.
class Way {
public:
    std::chrono::microseconds round_trip{0};
    std::uint64_t bandwidth = 0; // bytes a second, each way; 0: as many as there are

    bool silent = false; // nothing comes through any more, and nobody is told so

    // When the last of so many bytes is there that have been sent now, to the engine or to the client.
    Clock::time_point to_engine(std::size_t bytes) { return carry(bytes, engine_free_); }
    Clock::time_point to_client(std::size_t bytes) { return carry(bytes, client_free_); }
    bool is_direct() const { return round_trip.count() == 0 && bandwidth == 0; }

private:
    Clock::time_point carry(std::size_t bytes, Clock::time_point& free) const;
    Clock::time_point engine_free_{}, client_free_{};
};

// What is under way in one direction of a stream: it comes out in order, each piece at its time.
class UnderWay {
public:
    explicit UnderWay(const boost::asio::any_io_executor& executor) : changed_(executor) {}

    // Waits while more is under way than a connection would take.
    Task<void> put(Clock::time_point due, std::string bytes);
    void end();
    // Hands on what comes until end(), or until `take` says false: then nobody listens any more, and what
    // else is put is lost.
    Task<void> deliver(std::function<Task<bool>(std::string)> take);

private:
    std::deque<std::pair<Clock::time_point, std::string>> pieces_{};
    std::size_t bytes_ = 0;
    bool ended_ = false, deaf_ = false;
    AsyncEvent changed_;
};

} // namespace dockdist::scale
