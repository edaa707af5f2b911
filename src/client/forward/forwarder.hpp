// Local ports that lead to a node for as long as somebody wants them, through everything that happens to the
// way.
#pragma once

#include "client/async/async_event.hpp"
#include "client/container/container_engine.hpp"
#include "client/forward/local_port.hpp"
#include "client/report/event.hpp"
#include "client/tunnel/tunnel_client.hpp"
#include "shared/core/names.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// Where a node is now.
struct NodePlace {
    ContainerEngine* engine = nullptr;
    ContainerId id{};
};

// Where ports lead.
struct ForwardGoal {
    NodeName node{};
    NodePlace place{};
    std::function<Task<Result<NodePlace>>()> find{}; // looks it up again, after a tunnel was lost
};

// The reporter, and what a goal's `find` uses, outlive it.
class Forwarder {
public:
    // What it means that the first tunnel does not come to stand: the end; or no more than later, where
    // another try may be better.
    enum class FirstTry { decides, may_fail };

    Forwarder(const boost::asio::any_io_executor& executor, ForwardGoal goal, std::vector<LocalPort> ports,
              Reporter& reporter);

    const std::vector<LocalPort>& ports() const { return ports_; }
    const NodeName& node() const { return goal_.node; }

    // Listens until it is cancelled. Ends by itself only where it cannot listen, or where the first tunnel
    // does not come to stand, with the reason; `on_ready` is called when it does. A tunnel that is lost later
    // is told, its connections are closed, and it is taken up again, after 0.5 s at first and every 10 s in
    // the end, for as long as none lasts longer than that; who connects meanwhile waits for the next try.
    Task<Error> run(std::function<void()> on_ready, FirstTry first = FirstTry::decides);

    // From now on the ports lead there: connections to the former node are closed, and `on_ready` is called
    // again.
    void lead_to(ForwardGoal goal);

    // Until no connection is open, but no longer than `limit`: before the end of one that has nobody to talk
    // to any more, for what the node said last is still on its way.
    Task<void> drain(std::chrono::milliseconds limit);

private:
    struct Try {
        std::size_t connections = 0; // that its end has closed
        bool stood = false;          // there was a tunnel
        bool lasted = false;         // longer than the longest pause
    };
    Task<Error> work(std::function<void()> on_ready, FirstTry first);
    Task<Status> keep_up(std::function<void()> on_ready, FirstTry first);
    Task<Status> try_once(const std::function<void()>& on_ready, Try& made);
    Task<Error> wait_until_moved();
    Task<Error> accept_all();
    Task<Status> accept(std::size_t port, boost::asio::ip::tcp::acceptor& acceptor);
    Task<void> carry(std::size_t port, boost::asio::ip::tcp::socket socket);
    Task<void> close_all();
    void tell_answer(std::size_t port, const std::optional<wire::TunnelFailure>& failure);
    void tell_lost(const Error& why, std::size_t connections);

    boost::asio::any_io_executor executor_;
    ForwardGoal goal_;
    std::vector<LocalPort> ports_;
    std::vector<std::optional<wire::TunnelFailure::Kind>> told_; // of each port, until a connection succeeds
    Reporter& reporter_;
    std::shared_ptr<TunnelClient> tunnel_{};
    AsyncEvent changed_; // whether there is a tunnel, or a try to get one is over
    AsyncEvent moved_;   // to another goal, since the latest try began
    AsyncEvent idle_;    // no connection has a coroutine
    std::string told_lost_{};
    std::size_t tries_ = 0;   // that are over, and in vain
    std::size_t carried_ = 0; // connections that have a coroutine
    bool was_tried_ = false;  // this goal's place
    bool was_ready_ = false;  // with this goal
    bool closing_ = false;
};

// What ports to a node are told of it: the node is where; another place, a host or a port, is in the message.
Error at_node(Error error, const NodeName& node);

} // namespace dockdist
