// The programs that this one has started: each is waited for, and whoever wants to know hears how it ended.
#pragma once

#include "client/async/async_event.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <map>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dockdist::scale {

struct Process {
    Process(const boost::asio::any_io_executor& executor, pid_t number) : pid(number), ended(executor) {}
    pid_t pid;
    int exit_code = 0; // 128+N after a signal
    AsyncEvent ended;
};

class Processes {
public:
    explicit Processes(boost::asio::io_context& io);

    // To be called in the same turn of the loop in which it was started.
    std::shared_ptr<Process> watch(pid_t pid);
    // Starts a program of this machine's, its output thrown away.
    std::shared_ptr<Process> start(const std::vector<std::string>& words);

private:
    void reap();
    boost::asio::io_context& io_;
    boost::asio::signal_set signals_;
    std::map<pid_t, std::shared_ptr<Process>> running_{};
};

} // namespace dockdist::scale
