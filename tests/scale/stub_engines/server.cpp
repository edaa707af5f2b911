#include "scale/stub_engines/server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include <utility>

namespace dockdist::scale {
namespace {

using boost::asio::ip::tcp;

// What the script makes of the call. False: there is no answer any more.
Task<bool> follow_rules(Exchange x) {
    bool goes_on = true;
    for (const auto& rule : x.world.setting.script.met(x.host.number, x.request.call)) {
        switch (rule.what) {
        case Rule::Do::delay:
            co_await wait_until(Clock::now() + rule.pause);
            break;
        case Rule::Do::hang:
            while (!(co_await x.connection->read_raw()).empty()) {
            }
            goes_on = false;
            break;
        case Rule::Do::drop:
        case Rule::Do::refuse: // one that was there before
            x.connection->reset();
            goes_on = false;
            break;
        case Rule::Do::vanish:
            x.world.vanish(x.host);
            break;
        case Rule::Do::fail:
            (void)co_await x.connection->read_body(x.request);
            co_await x.fail(rule.status, rule.message);
            goes_on = false;
            break;
        }
        if (!goes_on) {
            break;
        }
    }
    if (x.host.way.silent) {
        co_await x.fail(500, ""); // for ever under way
    }
    co_return goes_on;
}

Task<void> handle(Exchange x) {
    for (const auto group : {handle_system, handle_containers, handle_files, handle_streams, handle_images}) {
        if (co_await group(x)) {
            co_return;
        }
    }
    (void)co_await x.connection->read_body(x.request);
    co_await x.fail(404, "page not found");
}

Task<void> serve(std::shared_ptr<Connection> connection, World& world, Host& host) {
    while (auto request = co_await connection->read_request()) {
        const bool ours = request->path.starts_with("/_stub/");
        Exchange x{.world = world, .host = host, .connection = connection, .request = std::move(*request)};
        if (!ours) {
            ++world.counters.calls[x.request.call];
            co_await wait_until(x.request.arrived);
            if (!co_await follow_rules(x)) {
                if (connection->gone()) {
                    co_return;
                }
                continue;
            }
        }
        co_await handle(x);
        if (connection->is_stream()) {
            co_return;
        }
    }
}

} // namespace

struct Server::Door {
    explicit Door(boost::asio::io_context& io) : acceptor(io) {}
    tcp::acceptor acceptor;
};

Server::Server(World& world, int port) : world_(world), port_(port) {
    doors_.resize(world.hosts.size());
    follow_script();
    world.on_script = [this] { follow_script(); };
}

void Server::follow_script() {
    for (std::size_t i = 0; i < doors_.size(); ++i) {
        const bool open = !world_.setting.script.refuses(static_cast<int>(i));
        if (!open && doors_[i]) {
            doors_[i]->acceptor.close();
            doors_[i].reset();
        } else if (open && !doors_[i]) {
            const auto door = std::make_shared<Door>(world_.io);
            const tcp::endpoint endpoint(
                boost::asio::ip::make_address(Fabric::engine_address(static_cast<int>(i))),
                static_cast<std::uint16_t>(port_));
            door->acceptor.open(endpoint.protocol());
            door->acceptor.set_option(tcp::acceptor::reuse_address(true));
            door->acceptor.bind(endpoint);
            door->acceptor.listen();
            doors_[i] = door;
            boost::asio::co_spawn(world_.io, accept(door, world_, *world_.hosts[i]), boost::asio::detached);
        }
    }
}

Task<void> Server::accept(std::shared_ptr<Door> door, World& world, Host& host) {
    while (true) {
        auto [error, socket] =
            co_await door->acceptor.async_accept(boost::asio::as_tuple(boost::asio::use_awaitable));
        if (error == boost::asio::error::operation_aborted) {
            co_return;
        }
        if (!error) {
            auto& count = world.counters.hosts[static_cast<std::size_t>(host.number)];
            auto connection =
                std::make_shared<Connection>(std::move(socket), host.way, world.counters, count);
            boost::asio::co_spawn(
                world.io, serve(std::move(connection), world, host), [](const std::exception_ptr& thrown) {
                    if (thrown) {
                        std::rethrow_exception(thrown); // a fault of the stubs': they end, and say which
                    }
                });
        }
    }
}

} // namespace dockdist::scale
