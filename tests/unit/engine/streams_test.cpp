// What comes as a stream: execs, followed logs, pulls, events.
#include "client/container/image_address.hpp"
#include "fakes/read_to_end.hpp"
#include "over_stub.hpp"

#include <doctest/doctest.h>

namespace streams_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

const std::string upgraded = "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
                             "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

// Answers pings, and plays `then` after the first other request.
StubServer::Script after_request(std::function<Task<void>(StubConnection)> then) {
    return [then](StubConnection connection) -> Task<void> {
        return [](std::function<Task<void>(StubConnection)> play, StubConnection with) -> Task<void> {
            while (const auto request = co_await with.read_request()) {
                if (request->target != "/_ping") {
                    co_return co_await play(with);
                }
                co_await with.send(ping_answer());
            }
        }(then, connection);
    };
}

} // namespace

TEST_CASE("an exec's output that comes in one packet with the 101 is not lost") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
        co_await connection.send(upgraded + stdio_frame(1, "early ") + stdio_frame(2, "err") +
                                 stdio_frame(1, "end"));
    }));
    const auto stream = stub.run(stub.engine->start_exec(ExecId("e"))).value();
    const auto output = stub.run(read_to_end(*stream));
    CHECK(output.out == "early end");
    CHECK(output.err == "err");
    CHECK_FALSE(output.error);
    const auto& request = stub.server.requests().front();
    CHECK(request.line() == "POST /v1.45/exec/e/start");
    CHECK(request.body == R"({"Detach":false,"Tty":false})");
    CHECK(request.headers.at("connection") == "Upgrade");
    CHECK(request.headers.at("upgrade") == "tcp");
}

TEST_CASE("an exec whose stream comes as 200 without length is the same stream") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
        co_await connection.send_sliced(
            "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n\r\n" +
            stdio_frame(1, "hello") + stdio_frame(2, "oh"));
    }));
    const auto stream = stub.run(stub.engine->start_exec(ExecId("e"))).value();
    const auto output = stub.run(read_to_end(*stream));
    CHECK(output.out == "hello");
    CHECK(output.err == "oh");
}

TEST_CASE("stdin arrives, its end too, and the output goes on after it") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
        co_await connection.send(upgraded);
        std::string input;
        while (true) {
            const auto bytes = co_await connection.read_some();
            if (bytes.empty()) {
                break;
            }
            input += bytes;
        }
        co_await connection.send(stdio_frame(1, "got " + input));
    }));
    const auto stream = stub.run(stub.engine->start_exec(ExecId("e"))).value();
    CHECK(stub.run(stream->write(std::string_view("some input"))));
    CHECK(stub.run(stream->close_stdin()));
    CHECK(stub.run(read_to_end(*stream)).out == "got some input");
}

TEST_CASE("a container's first process is attached to with its stdin and both outputs") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
        co_await connection.send(std::string(upgraded));
        co_await connection.send(stdio_frame(1, "said " + co_await connection.read_some()));
    }));
    const auto stream = stub.run(stub.engine->attach_container(container_id)).value();
    CHECK(stub.run(stream->write(std::string_view("hello"))));
    CHECK(stub.run(read_to_end(*stream)).out == "said hello");
    const auto& request = stub.server.requests().front();
    CHECK(request.line() ==
          "POST /v1.45/containers/" + container_id.str() + "/attach?stream=1&stdin=1&stdout=1&stderr=1");
    CHECK(request.headers.at("upgrade") == "tcp");
}

TEST_CASE("a stream that ends inside a frame is an error, not an end") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
        co_await connection.send(upgraded + stdio_frame(1, "whole") +
                                 stdio_frame(1, "not whole").substr(0, 10));
    }));
    const auto stream = stub.run(stub.engine->start_exec(ExecId("e"))).value();
    const auto output = stub.run(read_to_end(*stream));
    CHECK(output.out == "wholeno");
    REQUIRE(output.error);
    CHECK(to_text(*output.error) == "a: the engine's output stream ended in the middle of a frame");
}

TEST_CASE("an exec that cannot be started tells why") {
    OverStub stub(always(http_answer(409, R"({"message":"Container x is not running"})")));
    const auto result = stub.run(stub.engine->start_exec(ExecId("e")));
    REQUIRE_FALSE(result);
    CHECK(result.error().kind == ErrorKind::conflict);
    CHECK(result.error().message == "start a command: Container x is not running");
}

TEST_CASE("an exec start that is never answered is a timeout") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
                      co_await connection.wait_until_client_closes();
                  }),
                  {.call = 50ms});
    CHECK(stub.run(stub.engine->start_exec(ExecId("e"))).error().kind == ErrorKind::timeout);
}

TEST_CASE("a stream outlives its engine") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
        co_await connection.send(upgraded + stdio_frame(1, "x"));
    }));
    const auto stream = stub.run(stub.engine->start_exec(ExecId("e"))).value();
    stub.engine.reset();
    CHECK(stub.run(read_to_end(*stream)).out == "x");
}

TEST_CASE("a read that is cancelled, and the stream destroyed at once") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
        co_await connection.send(upgraded);
        co_await connection.wait_until_client_closes();
    }));
    auto stream = stub.run(stub.engine->start_exec(ExecId("e"))).value();
    Cancellable reading(stub.io, read_to_end(*stream));
    stub.io.poll();
    reading.cancel();
    reading.wait();
    stream.reset();
    CHECK(reading.ended_by_cancellation());
}

TEST_CASE("a followed log is asked for from its beginning and read to its end") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
        co_await connection.send_sliced(
            http_chunked(200, {stdio_frame(1, "one\n"), stdio_frame(2, "two\n").substr(0, 3),
                               stdio_frame(2, "two\n").substr(3)}));
    }));
    const auto log = stub.run(stub.engine->container_logs(container_id, {true, -1, true})).value();
    const auto output = stub.run(read_to_end(*log));
    CHECK(output.out == "one\n");
    CHECK(output.err == "two\n");
    CHECK(stub.server.requests().front().line() ==
          "GET /v1.45/containers/" + container_id.str() +
              "/logs?stdout=1&stderr=1&follow=1&timestamps=1&tail=all");
}

TEST_CASE("the log of a container with a terminal has no frames") {
    OverStub stub(always("HTTP/1.1 200 OK\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
                         "Api-Version: 1.45\r\nContent-Length: 4\r\n\r\n$ \1\2"));
    const auto log = stub.run(stub.engine->container_logs(container_id, {})).value();
    CHECK(stub.run(read_to_end(*log)).out == "$ \1\2");
}

TEST_CASE("a pull tells its progress and ends") {
    OverStub stub(always(http_chunked(200, {"{\"status\":\"Pulling\",\"id\":\"l1\"}\r\n{\"status\":\"Down",
                                            "loading\",\"id\":\"l1\",\"progressDetail\":"
                                            "{\"current\":1,\"total\":2}}\r\n"})));
    std::vector<std::string> seen;
    const auto note = [&](const PullProgress& progress) {
        seen.push_back(progress.layer + " " + progress.status);
    };
    CHECK(stub.run(stub.engine->pull_image(ImageRef("localhost:5000/a/b"), "linux/arm64", "dG9rZW4=", note)));
    CHECK(seen == std::vector<std::string>{"l1 Pulling", "l1 Downloading"});
    const auto& request = stub.server.requests().front();
    CHECK(request.line() ==
          "POST /v1.45/images/create?fromImage=localhost%3A5000%2Fa%2Fb&tag=latest&platform=linux%2Farm64");
    CHECK(request.headers.at("x-registry-auth") == "dG9rZW4=");
}

TEST_CASE("a pull names the tag or the digest of its reference") {
    OverStub stub(always(http_chunked(200, {"{}\n"})));
    CHECK(stub.run(stub.engine->pull_image(ImageRef("torch:2.6"), "", "", {})));
    CHECK(stub.run(stub.engine->pull_image(ImageRef("torch@sha256:00"), "", "", {})));
    CHECK(stub.server.requests().at(0).target == "/v1.45/images/create?fromImage=torch&tag=2.6");
    CHECK(stub.server.requests().at(1).target == "/v1.45/images/create?fromImage=torch&tag=sha256%3A00");
    CHECK_FALSE(stub.server.requests().at(0).headers.contains("x-registry-auth"));
}

TEST_CASE("an engine is told to import a tar from an address, and what it says of that is understood") {
    const std::string url = "http://10.0.0.1:4000/abc";
    std::vector<std::string> said{R"({"status":"Downloading from http://10.0.0.1:4000/abc"})"
                                  "\r\n",
                                  R"({"status":"Importing","progressDetail":{"current":1,"total":2}})"
                                  "\r\n",
                                  R"({"status":"sha256:00"})"
                                  "\r\n"};
    {
        OverStub stub(always(http_chunked(200, said)));
        CHECK(stub.run(stub.engine->pull_image(image_at(url, "dockdist-toolkit", "t1"), "", "", {})));
        REQUIRE(stub.server.requests().size() == 1);
        CHECK(stub.server.requests()[0].line() ==
              "POST "
              "/v1.45/images/create?fromSrc=http%3A%2F%2F10.0.0.1%3A4000%2Fabc&repo=dockdist-toolkit&tag=t1");
        CHECK(stub.server.requests()[0].body.empty());
    }
    said.back() = R"({"errorDetail":{"message":"unexpected EOF"},"error":"unexpected EOF"})"
                  "\r\n";
    OverStub stub(always(http_chunked(200, said)));
    const auto error =
        stub.run(stub.engine->pull_image(image_at(url, "dockdist-toolkit", "t1"), "", "", {})).error();
    CHECK(error.message == "import image dockdist-toolkit: unexpected EOF");
    CHECK(error.where == "a");
}

TEST_CASE("a tar that is imported has the content type of Docker's description") {
    OverStub stub(always(http_chunked(200, {R"({"status":"sha256:00"})"
                                            "\r\n"})));
    const std::string tar = "the tar";
    CHECK(stub.run(stub.engine->import_image("dockdist-relay", "t1", tar)).has_value());
    REQUIRE(stub.server.requests().size() == 1);
    const auto& request = stub.server.requests()[0];
    CHECK(request.line() == "POST /v1.45/images/create?fromSrc=-&repo=dockdist-relay&tag=t1");
    CHECK(request.headers.at("content-type") == "application/octet-stream");
    CHECK(request.body == tar);
}

TEST_CASE("an error inside a pull's 200 is an error") {
    OverStub stub(always(http_chunked(
        200,
        {"{\"status\":\"Pulling\"}\n",
         R"({"errorDetail":{"message":"pull access denied for x"},"error":"pull access denied for x"})"})));
    const auto error = stub.run(stub.engine->pull_image(ImageRef("x"), "", "", {})).error();
    CHECK(error == Error{ErrorKind::engine, "a", "pull image x: pull access denied for x",
                         "check the image's name, and log in to its registry (docker login)"});
}

TEST_CASE("a pull that falls silent is a timeout") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
                      co_await connection.send(
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n");
                      co_await connection.wait_until_client_closes();
                  }),
                  {.pull_silence = 50ms});
    const auto error = stub.run(stub.engine->pull_image(ImageRef("x"), "", "", {})).error();
    CHECK(error.kind == ErrorKind::timeout);
    CHECK(error.message == "pull image x: the engine said nothing for 0.05 s");
}

TEST_CASE("a pull that is cut off is an error") {
    OverStub stub(after_request([](StubConnection connection) -> Task<void> {
        co_await connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n");
    }));
    CHECK(stub.run(stub.engine->pull_image(ImageRef("x"), "", "", {})).error().kind == ErrorKind::protocol);
}

TEST_CASE("events come one by one, and their end is an error") {
    OverStub stub(always(http_chunked(
        200, {R"({"Type":"container","Action":"die","Actor":{"ID":"x","Attributes":{"exitCode":"7"}}})"
              "\n",
              R"({"Type":"container","Action":"destroy","Actor":{"ID":"x"}})"
              "\n"})));
    const auto events =
        stub.run(stub.engine->events({{"container"}, {"die", "destroy"}, {"dockdist.cluster=v"}})).value();
    CHECK(stub.run(events->next()).value().attributes.at("exitCode") == "7");
    CHECK(stub.run(events->next()).value().action == "destroy");
    CHECK(stub.run(events->next()).error().kind == ErrorKind::unreachable);
    CHECK(stub.server.requests().front().target ==
          "/v1.45/"
          "events?filters=%7B%22event%22%3A%5B%22die%22%2C%22destroy%22%5D%2C%22label%22%3A%5B%22dockdist."
          "cluster%3Dv%22%5D%2C"
          "%22type%22%3A%5B%22container%22%5D%7D");
}

} // namespace streams_test
