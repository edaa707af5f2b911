// What goes on beside the program's work and has to end with it: ticks of a clock, signals.
//
// Cancelling such a wait is not enough. A handler whose event has come is called all the same, and would wait
// for the next one, with nobody left to cancel that: the io_context would never run out of work.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <initializer_list>

namespace dockdist {

// Calls `work` after each `interval`, until it is stopped. Outlives the io_context's run, or is stopped
// before.
class Ticker {
public:
    Ticker(const boost::asio::any_io_executor& executor, std::chrono::milliseconds interval,
           std::function<void()> work);
    void stop();

private:
    void wait();

    boost::asio::steady_timer timer_;
    std::chrono::milliseconds interval_;
    std::function<void()> work_;
    bool stopped_ = false;
};

// Calls `work` at each of `signals`, until it is stopped; as above. One that is ignored stays so: whoever has
// started this process, `nohup` or a shell's `&`, does not want it to be ended by that.
class SignalWatch {
public:
    SignalWatch(const boost::asio::any_io_executor& executor, std::initializer_list<int> signals,
                std::function<void()> work);
    void stop();

private:
    void wait();

    boost::asio::signal_set signals_;
    std::function<void()> work_;
    bool stopped_ = false;
};

} // namespace dockdist
