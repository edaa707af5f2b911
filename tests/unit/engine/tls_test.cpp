// An engine behind TLS: both sides prove who they are.
#include "client/engine/docker_engine.hpp"
#include "echo_engine.hpp"
#include "fakes/run_task.hpp"
#include "fakes/show.hpp"
#include "fakes/tls_front.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sys/stat.h>

namespace tls_test {

using namespace dockdist;

namespace {

struct BehindTls {
    TemporaryFolder folder{};
    TestAuthority authority{folder, "ca"};
    TestAuthority other{folder, "other-ca"};
    boost::asio::io_context io{};
    StubServer server{io, echo_engine};

    std::unique_ptr<ContainerEngine> engine(const EngineAddress& address, const TlsFiles& client) {
        return make_docker_engine(io.get_executor(), {HostName("a"), address, client, false, {}});
    }
    Error refusal(const TlsFiles& server_files, const TlsFiles& client) {
        const TlsFront front(io, server_files, server.address());
        const auto result = run_task(io, engine(front.address(), client)->ping());
        REQUIRE_FALSE(result);
        CHECK(result.error().where == "a");
        CHECK(server.connections() <= 1);
        return result.error();
    }
};

} // namespace

TEST_CASE_FIXTURE(BehindTls, "calls travel over TLS on one connection") {
    const TlsFront front(io, authority.issue("server", "IP:127.0.0.1"), server.address());
    const auto client = engine(front.address(), authority.issue("client", ""));
    CHECK(run_task(io, client->inspect_volume("v")));
    CHECK(run_task(io, client->inspect_volume("v")));
    CHECK(server.connections() == 1);
}

TEST_CASE_FIXTURE(BehindTls, "stdin can be ended over TLS, and the output goes on after it") {
    const TlsFront front(io, authority.issue("server", "IP:127.0.0.1"), server.address());
    const auto client = engine(front.address(), authority.issue("client", ""));
    CHECK(run_task(io, converse(*client, "hello")).value() == "got hello");
}

TEST_CASE_FIXTURE(BehindTls, "what is built from arrives whole over TLS") {
    const TlsFront front(io, authority.issue("server", "IP:127.0.0.1"), server.address());
    const auto client = engine(front.address(), authority.issue("client", ""));
    const std::string tar(20'000'000, 't');
    CHECK(run_task(io, client->build_image({.reference = ImageRef("x")}, tar, {})).value() == "20000000");
}

TEST_CASE_FIXTURE(BehindTls, "tcp:// with files of TLS is TLS") {
    const TlsFront front(io, authority.issue("server", "IP:127.0.0.1"), server.address());
    auto address = front.address();
    address.scheme = EngineAddress::Scheme::tcp;
    CHECK(run_task(io, engine(address, authority.issue("client", ""))->ping()));
}

TEST_CASE_FIXTURE(BehindTls, "an engine whose certificate another CA signed is refused") {
    const auto error = refusal(other.issue("server", "IP:127.0.0.1"), authority.issue("client", ""));
    CHECK(error.kind == ErrorKind::protocol);
    CHECK(error.message.find("cannot be trusted: self-signed certificate in certificate chain") !=
          std::string::npos);
    CHECK(error.hint == "does tls.ca name the CA that signed the engine's certificate?");
    CHECK(server.connections() == 0);
}

TEST_CASE_FIXTURE(BehindTls, "an engine whose certificate names another machine is refused") {
    const auto error =
        refusal(authority.issue("server", "IP:127.0.0.2,DNS:node-1"), authority.issue("client", ""));
    CHECK(error.message.find("cannot be trusted: IP address mismatch") != std::string::npos);
    CHECK(error.hint.find("does not name 127.0.0.1") != std::string::npos);
    CHECK(server.connections() == 0);
}

TEST_CASE_FIXTURE(BehindTls,
                  "a name that no certificate can be checked against is refused before the handshake") {
    const TlsFront front(io, authority.issue("server", "DNS:localhost"), server.address());
    auto address = front.address();
    address.host = "localhost";
    CHECK(run_task(io, engine(address, authority.issue("client", ""))->ping()));
    address.host += '\0';
    address.host += ".example.org";
    const auto error = run_task(io, engine(address, authority.issue("client", ""))->ping()).error();
    CHECK(error.kind == ErrorKind::config);
    CHECK(error.message == "no certificate can be checked against the name 'localhost\\x00.example.org'");
    CHECK(server.connections() == 1);
}

TEST_CASE_FIXTURE(BehindTls, "an engine whose certificate has expired is refused") {
    const auto error = refusal(authority.issue("server", "IP:127.0.0.1", -1), authority.issue("client", ""));
    CHECK(error.message.find("cannot be trusted: certificate has expired") != std::string::npos);
    CHECK(server.connections() == 0);
}

TEST_CASE_FIXTURE(BehindTls, "an engine that refuses our certificate is told as such") {
    TlsFiles stranger = other.issue("client", "");
    stranger.ca = authority.file();
    const auto error = refusal(authority.issue("server", "IP:127.0.0.1"), stranger);
    CHECK(error.kind == ErrorKind::protocol);
    CHECK(error.message.find("the engine refused our TLS certificate") == 0);
    CHECK(error.hint == "are tls.cert and tls.key signed by the CA that dockerd was given (--tlscacert)?");
    CHECK(server.connections() == 0);
}

TEST_CASE_FIXTURE(BehindTls, "a port that does not speak TLS is told as such") {
    const StubServer plain(io, [](StubConnection connection) -> Task<void> {
        (void)co_await connection.read_some();
        co_await connection.send("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n400 Bad Request");
    });
    const auto error = run_task(io, engine(plain.address(), authority.issue("client", ""))->ping()).error();
    CHECK(error.kind == ErrorKind::protocol);
    CHECK(error.message.find("does not speak TLS") != std::string::npos);
    CHECK(error.hint == "2376 is Docker's port for TLS, 2375 the one without");
}

TEST_CASE_FIXTURE(BehindTls, "files that cannot be used are told before any connection") {
    std::ofstream(folder.file("broken.pem")) << "no certificate";
    auto files = authority.issue("client", "");
    files.ca = folder.file("nope.pem");
    const auto missing = run_task(io, engine(server.address(), files)->ping());
    CHECK(missing.error().kind == ErrorKind::config);
    CHECK(missing.error().message.starts_with("cannot use the file of tls.ca '" + files.ca + "': "));
    files = authority.issue("client", "");
    files.key = folder.file("broken.pem");
    CHECK(run_task(io, engine(server.address(), files)->ping())
              .error()
              .message.starts_with("cannot use the file of tls.key"));
    const auto fifo = folder.file("fifo.pem");
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    for (auto* file : {&files.ca, &files.cert, &files.key}) {
        files = authority.issue("client", "");
        *file = fifo;
        CHECK(run_task(io, engine(server.address(), files)->ping())
                  .error()
                  .message.ends_with("'" + fifo + "': it is a pipe, not a file"));
    }
    CHECK(server.connections() == 0);
}

} // namespace tls_test
