// Addresses where no Docker engine answers, or none that may be used.
#include "client/engine/engine_session.hpp"
#include "fakes/tls_front.hpp"
#include "over_stub.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <doctest/doctest.h>

namespace not_an_engine_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

StubServer::Script says(std::string bytes) {
    return [bytes](StubConnection connection) -> Task<void> {
        return [](std::string text, StubConnection with) -> Task<void> {
            (void)co_await with.read_some();
            co_await with.send(text);
            co_await with.wait_until_client_closes();
        }(bytes, connection);
    };
}

Error ping_error(StubServer::Script script) {
    OverStub stub(std::move(script));
    const auto result = stub.run(stub.engine->ping());
    REQUIRE_FALSE(result);
    return result.error();
}

Error connect_error(const std::string& url, bool insecure = false) {
    boost::asio::io_context io;
    const auto engine = make_docker_engine(
        io.get_executor(), {HostName("a"), parse_engine_address(url).value(), {}, insecure, {}});
    const auto result = run_task(io, engine->ping());
    REQUIRE_FALSE(result);
    return result.error();
}

} // namespace

TEST_CASE("a web server is not a Docker engine") {
    const auto error =
        ping_error(says("HTTP/1.1 404 Not Found\r\nServer: nginx/1.22\r\nContent-Length: 3\r\n\r\nno\n"));
    CHECK(error == Error{ErrorKind::protocol, "a",
                         "what answers there is not a Docker engine (it answered /_ping with status 404, "
                         "server 'nginx/1.22')",
                         "check the address and the port; Docker's ports are 2375, and 2376 with TLS"});
}

TEST_CASE("an engine's TLS port that is spoken to without TLS") {
    const auto by_text = ping_error([](StubConnection connection) -> Task<void> {
        (void)co_await connection.read_some();
        co_await connection.send(
            "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n");
    });
    const auto by_alert = ping_error(says(std::string("\x15\x03\x01\x00\x02\x02\x0a", 7)));
    CHECK(by_alert.kind == ErrorKind::protocol);
    CHECK(by_alert.message == "the engine speaks TLS, but was contacted without it");
    CHECK(by_alert.hint.find("2376") != std::string::npos);
    CHECK(by_text == by_alert);
}

TEST_CASE("a server that speaks first, as ssh does, is not a Docker engine") {
    const auto error = ping_error([](StubConnection connection) -> Task<void> {
        co_await connection.send("SSH-2.0-OpenSSH_9.2p1\r\n");
        co_await connection.wait_until_client_closes();
    });
    CHECK(error.kind == ErrorKind::protocol);
    CHECK(error.hint == "write ssh://USER@HOST instead of tcp://");
}

TEST_CASE("a server that closes each connection at once is asked once") {
    OverStub stub([](StubConnection) -> Task<void> { co_return; });
    CHECK(stub.run(stub.engine->ping()).error().kind == ErrorKind::unreachable);
    CHECK(stub.server.connections() == 1);
}

TEST_CASE("huge headers are refused") {
    CHECK(ping_error(says("HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n")).message ==
          "the header of the engine's answer is larger than 64 KiB");
}

TEST_CASE("an engine that is too old is told so") {
    OverStub stub(StubServer::engine([](const StubRequest&) { return http_answer(200, "{}"); }, "1.39"));
    CHECK(stub.run(stub.engine->ping()).error() ==
          Error{ErrorKind::engine, "a", "the engine speaks API 1.39, and dockdist needs 1.40 or newer",
                "upgrade Docker on that host to 19.03 or newer"});
}

TEST_CASE("an engine whose oldest version is newer than ours is told so") {
    OverStub stub(StubServer::engine(
        [](const StubRequest&) {
            return http_answer(
                400,
                R"({"message":"client version 1.51 is too old. Minimum supported API version is 1.60"})");
        },
        "1.70"));
    const auto error = stub.run(stub.engine->info()).error();
    CHECK(error.message.find("Minimum supported API version is 1.60") != std::string::npos);
    CHECK(error.hint.find("dockdist speaks API 1.40 to 1.51") != std::string::npos);
}

TEST_CASE("versions that are none are refused") {
    for (const std::string api : {"one", "1", "1.x", "-1.4", "99999999999.1"}) {
        CAPTURE(api);
        OverStub stub(StubServer::engine([](const StubRequest&) { return std::string(); }, api));
        CHECK(stub.run(stub.engine->ping()).error().kind == ErrorKind::protocol);
    }
}

TEST_CASE("plain TCP beyond loopback is refused before anything is sent") {
    const auto error = connect_error("tcp://192.0.2.1:2375");
    CHECK(error.kind == ErrorKind::config);
    CHECK(error.message ==
          "tcp://192.0.2.1:2375 is plain TCP: whoever can reach that port is root on the host");
    CHECK(error.hint.find("insecure: true") != std::string::npos);
    CHECK(connect_error("tcp://localhost.example.org:2375").kind == ErrorKind::config);
}

TEST_CASE("a port where nothing listens refuses the connection") {
    boost::asio::io_context io;
    auto server = std::make_unique<StubServer>(io, says(""));
    const auto url = server->address().url;
    server.reset();
    const auto error = connect_error(url);
    CHECK(error.kind == ErrorKind::unreachable);
    CHECK(error.where == "a");
    CHECK(error.message == url + " refused the connection");
    CHECK(error.hint.find("is Docker listening on port") == 0);
}

TEST_CASE("a socket file that is not there") {
    const TemporaryFolder folder;
    const auto error = connect_error("unix://" + folder.file("docker.sock"));
    CHECK(error.kind == ErrorKind::unreachable);
    CHECK(error.message == "no socket at " + folder.file("docker.sock"));
    CHECK(error.hint.find("is Docker installed and running") == 0);
    CHECK(connect_error("unix://" + folder.file("podman.sock")).hint ==
          "is Podman installed and running on this machine? (sudo systemctl start podman.socket)");
    CHECK(connect_error("unix:///run/user/4999/podman/podman.sock").hint ==
          "is Podman installed and running on this machine? (systemctl --user start podman.socket)");
}

TEST_CASE("where an engine that is not well says why: a user's own has a journal of its own") {
    const HttpResponse sick{500, {{"Api-Version", "1.45"}}, R"({"message":"no"})"};
    CHECK(agree_on_version(sick).error().hint ==
          "look at its status and log on that host (journalctl -u docker)");
    CHECK(agree_on_version(sick, true).error().hint ==
          "look at its status and log on that host (journalctl --user -u docker)");
}

TEST_CASE("a socket file where nothing listens any more") {
    const TemporaryFolder folder;
    boost::asio::io_context io;
    {
        const boost::asio::local::stream_protocol::acceptor closed(io, {folder.file("docker.sock")});
    }
    CHECK(connect_error("unix://" + folder.file("docker.sock")).message ==
          "nothing listens on " + folder.file("docker.sock"));
}

TEST_CASE("a connection that is not accepted in time is a timeout") {
    // A listener whose queue is full does not answer further connections.
    const TemporaryFolder folder;
    boost::asio::io_context io;
    const boost::asio::local::stream_protocol::endpoint endpoint(folder.file("docker.sock"));
    boost::asio::local::stream_protocol::acceptor acceptor(io);
    acceptor.open();
    acceptor.bind(endpoint);
    acceptor.listen(0);
    boost::asio::local::stream_protocol::socket first(io);
    first.connect(endpoint);
    const auto engine =
        make_docker_engine(io.get_executor(), {HostName("a"),
                                               parse_engine_address("unix://" + endpoint.path()).value(),
                                               {},
                                               false,
                                               {.connect = 20ms}});
    const auto result = run_task(io, engine->ping());
    CHECK(result.error().kind == ErrorKind::timeout);
}

} // namespace not_an_engine_test
