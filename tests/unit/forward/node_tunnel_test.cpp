// A tunnel's silence, against a node that is played.
#include "client/forward/node_tunnel.hpp"
#include "fakes/fake_engine.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace node_tunnel_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

void say(FakeExec exec, wire::TunnelKind kind) {
    std::string out;
    wire::append_tunnel_frame(out, kind, 0);
    exec.out(std::move(out));
}

std::size_t pings_in(const std::string& bytes) {
    return bytes.size() / wire::tunnel_header_size; // nothing else is said
}

// What the tunnel to such a node ends with.
Error end_of(FakeEngine::ExecScript node) {
    boost::asio::io_context io;
    FakeEngine engine{io.get_executor()};
    const auto id = engine.add_container("demo-node-0").id;
    engine.on_exec("tunnel", std::move(node));
    const auto tunnel =
        std::make_shared<TunnelClient>(io.get_executor(), TunnelTimes{.lease = 100ms, .ping = 20ms});
    return run_task(io, run_node_tunnel(tunnel, engine, id, [] {}));
}

} // namespace

TEST_CASE("a node that never says its first word is given up") {
    const auto ended = end_of([](FakeExec exec) -> Task<int> {
        co_await exec.read_all();
        co_return 0;
    });
    CHECK(ended.kind == ErrorKind::timeout);
    CHECK(ended.message.starts_with("the node says nothing for "));
}

TEST_CASE("a node that answers pings is kept, and given up once it does no more") {
    std::size_t answered = 0;
    const auto ended = end_of([&](FakeExec exec) -> Task<int> {
        say(exec, wire::TunnelKind::hello);
        while (answered < 20) { // several times the silence that is allowed
            const auto bytes = co_await exec.read_some();
            if (bytes.empty()) {
                co_return 0;
            }
            answered += pings_in(bytes);
            say(exec, wire::TunnelKind::ping);
        }
        co_await exec.read_all();
        co_return 0;
    });
    CHECK(answered >= 20);
    CHECK(ended.kind == ErrorKind::timeout);
}

TEST_CASE("a node of an older dockdist, which answers no ping, may be silent") {
    const auto ended = end_of([](FakeExec exec) -> Task<int> {
        say(exec, wire::TunnelKind::hello);
        for (std::size_t pings = 0; pings < 20;) {
            const auto bytes = co_await exec.read_some();
            if (bytes.empty()) {
                co_return 0;
            }
            pings += pings_in(bytes);
        }
        exec.err("it ends\n");
        co_return 1;
    });
    CHECK(ended.kind == ErrorKind::node);
    CHECK(ended.message == "the tunnel's end in the node is gone: it ends");
}

} // namespace node_tunnel_test
