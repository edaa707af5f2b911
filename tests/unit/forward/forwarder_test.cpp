// Ports, real sockets on this machine's loopback, and a node that is played.
#include "client/async/children.hpp"
#include "client/async/pause.hpp"
#include "client/forward/forwarder.hpp"
#include "fakes/fake_engine.hpp"
#include "shared/wire/layout.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <doctest/doctest.h>

#include <cctype>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace forwarder_test {

using namespace dockdist;
using namespace std::chrono_literals;
using boost::asio::use_awaitable;
using boost::asio::ip::tcp;
using Kind = TunnelChannels::Event::Kind;

namespace {

struct Words : Reporter {
    std::vector<std::string> said{};
    void on(const Event& event) override { said.push_back(event.text); }
    void error(const Error&) override {}
    void finish() override {}
};

struct Bench {
    boost::asio::io_context io{};
    FakeEngine engine{io.get_executor()};
    Words words{};
    ContainerId id = engine.add_container("demo-node-0").id;
    int found = 0; // how often the node was looked up again
    std::unique_ptr<Forwarder> forwarder{};

    explicit Bench(const char* port = "0:80") {
        auto local = take_local_ports(io.get_executor(), {parse_forward_port(port, "").value()});
        REQUIRE(local.errors.empty());
        forwarder = std::make_unique<Forwarder>(
            io.get_executor(), ForwardGoal{NodeName("node-0"), {&engine, id}, [this] { return find(); }},
            std::move(local.ports), words);
    }
    Task<Result<NodePlace>> find() {
        ++found;
        co_return NodePlace{&engine, id};
    }
    int port() const { return forwarder->ports().front().number; }
    Task<tcp::socket> connect() {
        tcp::socket socket(io);
        co_await socket.async_connect(
            {boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(port())}, use_awaitable);
        co_return socket;
    }
    // `work`, while ports are forwarded.
    void during(std::function<Task<void>()> work) { run_task(io, beside(std::move(work))); }
    Task<void> beside(std::function<Task<void>()> work) {
        detail::Children children(io.get_executor());
        children.start(forward());
        co_await work();
        children.cancel();
        (void)co_await children.join(detail::Children::OnCancel::ignore);
    }
    Task<void> forward() {
        ended = co_await forwarder->run([this] { ++ready; }, first);
    }
    Forwarder::FirstTry first = Forwarder::FirstTry::decides;
    Error ended{};
    int ready = 0;
};

// What the client has said, a connection to be opened at last.
Task<std::string> until_opened(FakeExec exec) {
    std::string said;
    while (said.find('O') == std::string::npos) {
        const auto more = co_await exec.read_some();
        if (more.empty()) {
            break;
        }
        said += more;
    }
    co_return said;
}

// Reads a connection until it ends, or breaks off.
Task<boost::system::error_code> how_it_ends(tcp::socket& socket) {
    std::string rest;
    boost::system::error_code error;
    co_await boost::asio::async_read(socket, boost::asio::dynamic_buffer(rest),
                                     boost::asio::redirect_error(use_awaitable, error));
    co_return error;
}

// Answers each connection with what it was sent, in capitals, once its end has come.
Task<int> shout(FakeExec exec) {
    TunnelChannels channels(TunnelChannels::Side::node);
    std::map<ChannelId, std::string> said;
    channels.hello();
    while (true) {
        if (channels.waiting() > 0) {
            exec.out(channels.take_output());
        }
        const auto bytes = co_await exec.read_some();
        if (bytes.empty()) {
            co_return 0;
        }
        const auto taken = channels.take(bytes, [&](const TunnelChannels::Event& event) {
            if (event.kind == Kind::open && event.target.port == 81) {
                channels.fail(event.channel, {.kind = wire::TunnelFailure::Kind::refused});
            } else if (event.kind == Kind::open) {
                channels.accept(event.channel);
            } else if (event.kind == Kind::data) {
                for (const char c : event.bytes) {
                    said[event.channel] += static_cast<char>(std::toupper(c));
                }
                channels.consumed(event.channel, event.bytes.size(), true);
            } else if (event.kind == Kind::end) {
                channels.send(event.channel, said[event.channel]);
                channels.end(event.channel);
            }
        });
        if (!taken) {
            co_return 1;
        }
    }
}

Task<std::string> ask(Bench& bench, std::string text) {
    auto socket = co_await bench.connect();
    co_await boost::asio::async_write(socket, boost::asio::buffer(text), use_awaitable);
    socket.shutdown(tcp::socket::shutdown_send);
    std::string answer;
    boost::system::error_code error;
    co_await boost::asio::async_read(socket, boost::asio::dynamic_buffer(answer),
                                     boost::asio::redirect_error(use_awaitable, error));
    co_return error == boost::asio::error::eof ? answer : error.message();
}

} // namespace

TEST_CASE("a request that ends, and its answer") {
    Bench bench;
    bench.engine.on_exec("tunnel", shout);
    bench.during([&]() -> Task<void> {
        CHECK(co_await ask(bench, "hello") == "HELLO");
        CHECK(co_await ask(bench, "again") == "AGAIN");
        CHECK(co_await ask(bench, std::string(100000, 'x')) == std::string(100000, 'X'));
    });
    CHECK(bench.ready == 1);
    CHECK(bench.words.said.empty());
    CHECK(bench.engine.calls.size() == 2); // one exec for all
}

TEST_CASE("what nobody listens to is said once") {
    Bench bench("0:81");
    bench.engine.on_exec("tunnel", shout);
    bench.during([&]() -> Task<void> {
        CHECK(co_await ask(bench, "a") != "A");
        CHECK(co_await ask(bench, "b") != "B");
    });
    REQUIRE(bench.words.said.size() == 1);
    CHECK(bench.words.said.front().find("nothing listens on port 81 of node-0's loopback yet") !=
          std::string::npos);
}

TEST_CASE(
    "a tunnel that breaks is told, its connections are closed, and who comes then waits for the next one") {
    Bench bench;
    std::optional<FakeExec> first;
    bench.engine.on_exec("tunnel", [&](FakeExec exec) {
        if (!first) {
            first = exec;
        }
        return shout(exec);
    });
    bench.during([&]() -> Task<void> {
        auto open = co_await bench.connect();
        CHECK(co_await ask(bench, "one") == "ONE");
        first->break_stream({ErrorKind::unreachable, "", "connection reset by peer", ""});
        CHECK(co_await how_it_ends(open));
        CHECK(co_await ask(bench, "two") == "TWO");
    });
    CHECK(bench.found == 1);
    REQUIRE(bench.words.said.size() == 2);
    CHECK(bench.words.said[0] ==
          "connection reset by peer (1 open connection was closed); the ports stay, and are "
          "forwarded again once it is there");
    CHECK(bench.words.said[1] == "forwarding again");
}

TEST_CASE("beside other work a first try may fail: it is told, and tried again, but not what cannot change") {
    Bench bench;
    bench.first = Forwarder::FirstTry::may_fail;
    bench.engine.on_exec("tunnel", shout);
    bench.engine.fail("create_exec", {ErrorKind::unreachable, "gpu01", "connection refused", ""});
    bench.during([&]() -> Task<void> {
        while (bench.words.said.empty()) {
            co_await pause_for(1ms);
        }
        CHECK(co_await ask(bench, "one") == "ONE"); // waits for the next try
    });
    CHECK(bench.ready == 1);
    CHECK(bench.found == 1);
    CHECK(bench.words.said ==
          std::vector<std::string>{
              "gpu01: connection refused; the ports stay, and are forwarded once it is there"});
    Bench old;
    old.engine.on_exec("tunnel", "", 2, "dockdist-init: the part of dockdist that runs inside a node\n");
    const auto ended =
        run_task(old.io, old.forwarder->run([&] { ++old.ready; }, Forwarder::FirstTry::may_fail));
    CHECK(ended.message == "the node was created by a dockdist that could not forward ports");
}

TEST_CASE("ports that lead to another node close what is open, and are told anew") {
    Bench bench;
    const auto other = bench.engine.add_container("demo-node-1").id;
    std::string begun;
    bench.engine.on_exec("tunnel", [&](FakeExec exec) {
        begun += exec.container_name() + " ";
        return shout(exec);
    });
    bench.during([&]() -> Task<void> {
        auto open = co_await bench.connect();
        CHECK(co_await ask(bench, "one") == "ONE");
        bench.forwarder->lead_to({NodeName("node-1"), {&bench.engine, other}, [&] { return bench.find(); }});
        CHECK(co_await how_it_ends(open));
        CHECK(co_await ask(bench, "two") == "TWO");
    });
    CHECK(bench.forwarder->node() == NodeName("node-1"));
    CHECK(begun == "demo-node-0 demo-node-1 ");
    CHECK(bench.ready == 2);
    CHECK(bench.found == 0);
    CHECK(bench.words.said.empty());
}

TEST_CASE("what a node says last is waited for, but nobody who stays connected") {
    Bench bench;
    bench.engine.on_exec("tunnel", shout);
    bench.during([&]() -> Task<void> {
        co_await bench.forwarder->drain(1h); // nobody is connected
        auto socket = co_await bench.connect();
        co_await boost::asio::async_write(socket, boost::asio::buffer("last", 4), use_awaitable);
        detail::Children reader(bench.io.get_executor());
        std::string answer;
        reader.start([](tcp::socket& from, std::string& into) -> Task<void> {
            co_await pause_for(1ms); // drain() has begun
            from.shutdown(tcp::socket::shutdown_send);
            boost::system::error_code error;
            co_await boost::asio::async_read(from, boost::asio::dynamic_buffer(into),
                                             boost::asio::redirect_error(use_awaitable, error));
            from.close();
        }(socket, answer));
        CHECK(co_await ask(bench, "first") == "FIRST"); // the other one has been accepted before it
        co_await bench.forwarder->drain(1h);
        CHECK(answer == "LAST");
        (void)co_await reader.join(detail::Children::OnCancel::ignore);

        const auto stays = co_await bench.connect();
        CHECK(co_await ask(bench, "beside") == "BESIDE");
        co_await bench.forwarder->drain(1ms);
    });
}

TEST_CASE("what a port is told of a node names it once, and keeps the place that failed") {
    const NodeName node("node-0");
    CHECK(to_text(at_node({ErrorKind::node, "", "gone", ""}, node)) == "node-0: gone");
    CHECK(to_text(at_node({ErrorKind::node, "gpu01", "refused", ""}, node)) == "node-0: gpu01: refused");
    CHECK(to_text(at_node({ErrorKind::node, "node-0 (tcp://10.0.0.2:2375)", "refused", ""}, node)) ==
          "node-0 (tcp://10.0.0.2:2375): refused");
}

TEST_CASE("a node that comes and goes is asked less and less often") {
    Bench bench;
    std::vector<std::chrono::steady_clock::time_point> begun;
    bench.engine.on_exec("tunnel", [&](FakeExec exec) -> Task<int> {
        begun.push_back(std::chrono::steady_clock::now());
        std::string out;
        wire::append_tunnel_frame(out, wire::TunnelKind::hello, 0);
        exec.out(out);
        co_return 0;
    });
    bench.during([&]() -> Task<void> {
        while (begun.size() < 3) {
            co_await pause_for(1ms);
        }
    });
    CHECK(begun[1] - begun[0] >= 500ms);
    CHECK(begun[2] - begun[1] >= 1s);
}

TEST_CASE(
    "a node of an older dockdist, and one that speaks nonsense, are told before anything is forwarded") {
    struct Case {
        const char *out, *err, *message;
    };
    for (const auto& [out, err, message] :
         {Case{"", "dockdist-init: the part of dockdist that runs inside a node\n  dockdist-init\n",
               "the node was created by a dockdist that could not forward ports"},
          Case{"", "no such user: \x1b[2J\nmore",
               "the tunnel's end in the node is gone: no such user: \\x1b[2J"},
          Case{"hello, I am a node", "", "a tunnel's frame of unknown kind 104"}}) {
        Bench bench;
        bench.engine.on_exec("tunnel", out, 2, err);
        const auto ended = run_task(bench.io, bench.forwarder->run([&] { ++bench.ready; }));
        CHECK(ended.message == message);
        CHECK(bench.ready == 0);
    }
}

TEST_CASE("a node that sends more than it may is cut off, and costs no more memory than the window") {
    Bench bench;
    bench.engine.on_exec("tunnel", [](FakeExec exec) -> Task<int> {
        std::string out;
        wire::append_tunnel_frame(out, wire::TunnelKind::hello, 0);
        exec.out(std::exchange(out, {}));
        (void)co_await until_opened(exec);
        wire::append_tunnel_frame(out, wire::TunnelKind::accept, 1);
        // More than the kernel and the largest window take of somebody who does not read.
        const std::string block(wire::max_tunnel_data, 'x');
        for (int i = 0; i < 128; ++i) {
            wire::append_tunnel_frame(out, wire::TunnelKind::data, 1, block);
        }
        exec.out(out);
        co_return 0;
    });
    bench.during([&]() -> Task<void> {
        const auto open = co_await bench.connect();
        while (bench.words.said.empty()) {
            co_await pause_for(1ms);
        }
    });
    CHECK(bench.words.said.front().find("is more than its window (1 open connection was closed)") !=
          std::string::npos);
}

TEST_CASE("a port that is in use is told with who has it") {
    boost::asio::io_context io;
    tcp::acceptor taken(io, {boost::asio::ip::address_v4::loopback(), 0});
    const int number = taken.local_endpoint().port();
    const auto made =
        take_local_ports(io.get_executor(), {{.local = number, .target = {.host = "", .port = 8888}}});
    CHECK(made.ports.empty());
    REQUIRE(made.errors.size() == 1);
    CHECK(made.errors.front().where == "port " + std::to_string(number));
    CHECK(made.errors.front().message.starts_with("it is in use on this machine, by unit_forward (pid "));
    CHECK(made.errors.front().hint == "choose another one: 0:8888 takes any that is free");
    const auto other =
        take_local_ports(io.get_executor(), {{.local = number, .target = {.host = "fd00::1", .port = 1}}});
    CHECK(other.errors.front().hint == "choose another one: 0:[fd00::1]:1 takes any that is free");
}

TEST_CASE("a port is held from the beginning, and refuses connections until it is forwarded") {
    Bench bench;
    const auto taken = take_local_ports(bench.io.get_executor(), {{.local = bench.port(), .target = {}}});
    REQUIRE(taken.errors.size() == 1);
    CHECK(taken.errors.front().kind == ErrorKind::conflict);
    tcp::socket socket(bench.io);
    boost::system::error_code error;
    error = socket.connect(
        {boost::asio::ip::address_v4::loopback(), static_cast<unsigned short>(bench.port())}, error);
    CHECK(error == boost::asio::error::connection_refused);
}

TEST_CASE("a port listens on the loopback alone") {
    boost::asio::io_context io;
    const auto made =
        take_local_ports(io.get_executor(), {{.local = 0, .target = {.host = "", .port = 8888}}});
    REQUIRE(made.ports.size() == 1);
    const auto addresses = made.ports.front().addresses();
    CHECK(addresses.front() == "127.0.0.1");
    CHECK((addresses.size() == 1 || addresses == std::vector<std::string>{"127.0.0.1", "::1"}));
    CHECK(made.ports.front().url() == "http://127.0.0.1:" + std::to_string(made.ports.front().number));
}

} // namespace forwarder_test
