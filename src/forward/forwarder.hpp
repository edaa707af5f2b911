// Local ports that lead to a node for as long as somebody wants them, through everything that happens to the
// way.
#pragma once

#include "async/async_event.hpp"
#include "container/container_engine.hpp"
#include "core/names.hpp"
#include "forward/local_port.hpp"
#include "forward/tunnel_client.hpp"
#include "report/event.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// Where a node is now.
struct NodeDoor {
    ContainerEngine* engine = nullptr;
    ContainerId id{};
};

// The reporter, and what `find` uses, outlive it.
class Forwarder {
public:
    // `find` looks the node up again, after the tunnel was lost.
    Forwarder(const boost::asio::any_io_executor& executor, NodeName node, std::vector<LocalPort> ports,
              NodeDoor door, std::function<Task<Result<NodeDoor>>()> find, Reporter& reporter);

    const std::vector<LocalPort>& ports() const { return ports_; }

    // Until it is cancelled. Ends by itself only where the first tunnel does not come to stand, with the
    // reason; `on_ready` is called when it does. A tunnel that is lost later is told, its connections are
    // closed, and it is taken up again, after 0.5 s at first and every 10 s in the end, for as long as none
    // lasts longer than that; who connects meanwhile waits for the next try.
    Task<Error> run(std::function<void()> on_ready);

private:
    Task<Error> work(std::function<void()> on_ready);
    Task<Status> keep_up(std::function<void()> on_ready);
    Task<Error> accept_all();
    Task<Status> accept(std::size_t port, boost::asio::ip::tcp::acceptor& acceptor);
    Task<void> carry(std::size_t port, boost::asio::ip::tcp::socket socket);
    Task<void> close_all();
    void tell_answer(std::size_t port, const std::optional<wire::TunnelFailure>& failure);
    void tell_lost(const Error& why, std::size_t connections);

    boost::asio::any_io_executor executor_;
    NodeName node_;
    std::vector<LocalPort> ports_;
    std::vector<std::optional<wire::TunnelFailure::Kind>> told_; // of each port, until a connection succeeds
    NodeDoor door_;
    std::function<Task<Result<NodeDoor>>()> find_;
    Reporter& reporter_;
    std::shared_ptr<TunnelClient> tunnel_{};
    AsyncEvent changed_; // whether there is a tunnel, or a try to get one is over
    AsyncEvent idle_;
    std::string told_lost_{};
    std::size_t tries_ = 0;   // that are over
    std::size_t carried_ = 0; // connections that have a coroutine
    bool closing_ = false;
};

} // namespace dockdist
