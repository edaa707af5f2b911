#include "client/job/order_queue.hpp"

#include "client/async/with_timeout.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds longest_ping_pause = 5s;
constexpr std::chrono::milliseconds write_limit = 5s;

Task<Status> write_to(NodeJob& part, wire::JobCommand command) {
    co_await part.send(command);
    co_return ok;
}

} // namespace

OrderQueue::OrderQueue(const boost::asio::any_io_executor& executor, std::chrono::milliseconds lease)
    : changed_(executor), ping_pause_(std::min(longest_ping_pause, lease / 3)) {}

void OrderQueue::add(wire::JobCommand command) {
    orders_.push_back(std::move(command));
    changed_.set();
}

void OrderQueue::close() {
    closed_ = true;
    changed_.set();
}

Task<Status> OrderQueue::send_to(NodeJob& part) {
    while (!closed_) {
        changed_.reset();
        auto command = wire::JobCommand{.type = wire::JobCommand::Type::ping};
        if (!orders_.empty()) {
            command = std::move(orders_.front());
            orders_.pop_front();
        } else if (co_await changed_.wait_at_most(ping_pause_)) {
            continue;
        }
        co_await with_timeout(write_to(part, std::move(command)), write_limit,
                              Error{.kind = ErrorKind::timeout});
    }
    co_return ok;
}

} // namespace dockdist
