// Orders to one part of a job, each sent when the one before it is, and without waiting for another part's.
// Between them pings, which hold the lease.
#pragma once

#include "client/async/async_event.hpp"
#include "client/job/node_job.hpp"

#include <chrono>
#include <deque>

namespace dockdist {

class OrderQueue {
public:
    OrderQueue(const boost::asio::any_io_executor& executor, std::chrono::milliseconds lease);

    void add(wire::JobCommand command);
    // What has not been sent is for a stream that is no more.
    void drop() { orders_.clear(); }
    // There is nobody any more to send to.
    void close();
    // Until it is closed.
    Task<Status> send_to(NodeJob& part);

private:
    AsyncEvent changed_;
    std::chrono::milliseconds ping_pause_;
    std::deque<wire::JobCommand> orders_{};
    bool closed_ = false;
};

} // namespace dockdist
