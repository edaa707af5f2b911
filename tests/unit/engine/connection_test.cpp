// The one connection of an engine: reuse, pipelining, loss, deadlines, cancellation.
#include "client/async/async_event.hpp"
#include "client/async/run_all.hpp"
#include "over_stub.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <doctest/doctest.h>

namespace connection_test {

using namespace dockdist;
using namespace std::chrono_literals;

namespace {

std::vector<Task<Result<VolumeDetails>>> look_at_volumes(ContainerEngine& engine, int count) {
    std::vector<Task<Result<VolumeDetails>>> tasks;
    for (int i = 0; i < count; ++i) {
        tasks.push_back(engine.inspect_volume("v" + std::to_string(i)));
    }
    return tasks;
}

std::string volume_answer(const StubRequest& request) {
    return http_answer(200, R"({"Name":")" + request.target.substr(request.target.rfind('/') + 1) + R"("})");
}

} // namespace

TEST_CASE("reads asked for side by side travel together: all arrive before the first answer is sent") {
    OverStub stub([](StubConnection connection) -> Task<void> {
        (void)co_await connection.read_request(); // ping
        co_await connection.send(ping_answer());
        std::vector<StubRequest> group;
        for (int i = 0; i < 3; ++i) {
            auto request = co_await connection.read_request();
            group.push_back(std::move(request.value()));
        }
        for (const auto& request : group) {
            co_await connection.send(volume_answer(request));
        }
        co_await connection.wait_until_client_closes();
    });
    const auto results = stub.run(run_all(look_at_volumes(*stub.engine, 3)));
    REQUIRE(results.size() == 3);
    CHECK(results[0].value().name == "v0");
    CHECK(results[1].value().name == "v1");
    CHECK(results[2].value().name == "v2");
    CHECK(stub.engine->round_trips() == 2); // the ping, and the group
    CHECK(stub.server.connections() == 1);
}

TEST_CASE("a write waits for the reads before it, and what comes after it waits for the write") {
    std::vector<std::string> order;
    OverStub stub([&](StubConnection connection) -> Task<void> {
        while (const auto request = co_await connection.read_request()) {
            order.push_back(request->method);
            // Whatever the client sent too early would be here by the time of the next turns.
            for (int turn = 0; turn < 20; ++turn) {
                co_await boost::asio::post(boost::asio::use_awaitable);
            }
            order.push_back("answer");
            co_await connection.send(request->target == "/_ping" ? ping_answer() : volume_answer(*request));
        }
    });
    std::vector<Task<Result<VolumeDetails>>> tasks = look_at_volumes(*stub.engine, 1);
    const auto remove = [](ContainerEngine& engine) -> Task<Result<VolumeDetails>> {
        const auto removed = co_await engine.remove_volume("x");
        co_return removed ? Result<VolumeDetails>(VolumeDetails{}) : Result<VolumeDetails>(removed.error());
    };
    tasks.push_back(remove(*stub.engine));
    tasks.push_back(stub.engine->inspect_volume("v9"));
    for (const auto& result : stub.run(run_all(std::move(tasks)))) {
        CHECK(result);
    }
    CHECK(order ==
          std::vector<std::string>{"GET", "answer", "GET", "answer", "DELETE", "answer", "GET", "answer"});
}

TEST_CASE("answers sliced into single bytes are the same answers") {
    OverStub stub(StubServer::engine(volume_answer, "1.45", true));
    for (const auto& result : stub.run(run_all(look_at_volumes(*stub.engine, 3)))) {
        CHECK(result);
    }
}

TEST_CASE("a kept connection that the engine has closed is opened again without a word") {
    OverStub stub([](StubConnection connection) -> Task<void> { // two requests a connection
        for (int i = 0; i < 2; ++i) {
            if (const auto request = co_await connection.read_request()) {
                co_await connection.send(request->target == "/_ping" ? ping_answer()
                                                                     : volume_answer(*request));
            }
        }
    });
    CHECK(stub.run(stub.engine->inspect_volume("a")));
    CHECK(stub.run(stub.engine->inspect_volume("b")));
    CHECK(stub.run(
        stub.engine->start_container(container_id))); // a write too: the close was seen before it was sent
    CHECK(stub.run(stub.engine->inspect_volume("c")));
    CHECK(stub.server.connections() == 3);
}

TEST_CASE("a read that a kept connection loses is sent again, once") {
    OverStub stub([](StubConnection connection) -> Task<void> {
        (void)co_await connection.read_request();
        if (connection.number() == 1) {
            co_await connection.send(ping_answer());
            (void)co_await connection.read_request(); // and closes without an answer
        }
    });
    const auto result = stub.run(stub.engine->inspect_volume("a"));
    CHECK(result.error().kind == ErrorKind::unreachable);
    CHECK(result.error().message == "the connection closed before the engine answered GET /v1.45/volumes/a");
    CHECK(stub.server.connections() == 2);
    CHECK(stub.server.requests().size() == 2);
}

TEST_CASE("a write whose answer is lost is not sent again") {
    OverStub stub([](StubConnection connection) -> Task<void> {
        (void)co_await connection.read_request();
        co_await connection.send(ping_answer());
        (void)co_await connection.read_request();
    });
    const auto result = stub.run(stub.engine->start_container(container_id));
    CHECK(result.error().kind == ErrorKind::unreachable);
    CHECK(stub.server.requests().size() == 1);
    CHECK(stub.server.connections() == 1);
}

TEST_CASE("pipelined reads behind an answer that closes the connection are sent again") {
    OverStub stub([](StubConnection connection) -> Task<void> {
        while (const auto request = co_await connection.read_request()) {
            if (request->target == "/_ping") {
                co_await connection.send(ping_answer());
                continue;
            }
            std::string answer = volume_answer(*request);
            answer.insert(answer.find("\r\n") + 2, "Connection: close\r\n");
            co_await connection.send(answer);
            co_return;
        }
    });
    const auto results = stub.run(run_all(look_at_volumes(*stub.engine, 3)));
    CHECK(results[0].value().name == "v0");
    CHECK(results[1].value().name == "v1");
    CHECK(results[2].value().name == "v2");
}

TEST_CASE("an engine that accepts and never answers is a timeout, for all that waits") {
    OverStub stub(
        [](StubConnection connection) -> Task<void> { co_await connection.wait_until_client_closes(); },
        {.call = 20ms});
    const auto results = stub.run(run_all(look_at_volumes(*stub.engine, 2)));
    for (const auto& result : results) {
        CHECK(result.error().kind == ErrorKind::timeout);
        CHECK(result.error().where == "a");
        CHECK(result.error().message == "the engine accepted GET /_ping and did not answer within 0.02 s");
    }
}

TEST_CASE("an answer that stops in its middle is a timeout") {
    OverStub stub(
        [](StubConnection connection) -> Task<void> {
            (void)co_await connection.read_request();
            co_await connection.send(ping_answer());
            (void)co_await connection.read_request();
            co_await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
            co_await connection.wait_until_client_closes();
        },
        {.call = 50ms});
    CHECK(stub.run(stub.engine->inspect_volume("a")).error().kind == ErrorKind::timeout);
}

TEST_CASE("after a timeout the engine can be asked again, on a new connection") {
    OverStub stub(
        [](StubConnection connection) -> Task<void> {
            if (connection.number() == 1) {
                co_await connection.wait_until_client_closes();
            }
            while (const auto request = co_await connection.read_request()) {
                co_await connection.send(request->target == "/_ping" ? ping_answer()
                                                                     : volume_answer(*request));
            }
        },
        {.call = 50ms});
    CHECK_FALSE(stub.run(stub.engine->inspect_volume("a")));
    CHECK(stub.run(stub.engine->inspect_volume("a")));
}

TEST_CASE("an answer whose JSON is cut short is a protocol error") {
    OverStub stub(always(http_answer(200, R"({"Name":"v)")));
    const auto result = stub.run(stub.engine->inspect_volume("v"));
    CHECK(result.error().kind == ErrorKind::protocol);
    CHECK(result.error().where == "a");
}

TEST_CASE("an answer that ends before its length is a protocol error") {
    OverStub stub([](StubConnection connection) -> Task<void> {
        (void)co_await connection.read_request();
        co_await connection.send(ping_answer());
        (void)co_await connection.read_request();
        co_await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"Name\":");
    });
    const auto result = stub.run(stub.engine->inspect_volume("v"));
    CHECK(result.error().kind == ErrorKind::protocol);
    CHECK(result.error().message ==
          "the engine's answer was cut short: the connection closed in the middle of it");
}

TEST_CASE("an upload that is refused before its end gives the refusal") {
    const std::string tar(8U << 20U, 't');
    OverStub stub([](StubConnection connection) -> Task<void> {
        (void)co_await connection.read_request();
        co_await connection.send(ping_answer());
        (void)co_await connection.read_some(); // the beginning of the upload
        co_await connection.send(http_answer(404, R"({"message":"No such container"})"));
        co_await connection.wait_until_client_closes();
    });
    const auto result = stub.run(stub.engine->put_archive(container_id, "/", tar));
    CHECK(result.error().kind == ErrorKind::not_found);
}

TEST_CASE("a write that is answered before its end, by an engine that reads no further, holds up nothing") {
    OverStub stub([](StubConnection connection) -> Task<void> {
        AsyncEvent end_of_test(co_await boost::asio::this_coro::executor);
        if (connection.number() == 1) {
            (void)co_await connection.read_request();
            co_await connection.send(ping_answer());
            (void)co_await connection.read_some(); // the beginning of the request
            co_await connection.send(http_answer(404, R"({"message":"No such container"})"));
            co_await end_of_test.wait();
        }
        while (const auto request = co_await connection.read_request()) {
            co_await connection.send(volume_answer(*request));
        }
    });
    const auto refused =
        stub.run(stub.engine->create_exec(container_id, {.command = {std::string(8U << 20U, 'x')}}));
    CHECK(refused.error().kind == ErrorKind::not_found);
    CHECK(stub.run(stub.engine->inspect_volume("v")));
}

TEST_CASE("an upload that is cancelled leaves its bytes alone from then on") {
    auto tar = std::make_unique<std::string>(8U << 20U, 't');
    bool begun = false;
    OverStub stub([&](StubConnection connection) -> Task<void> {
        (void)co_await connection.read_request();
        co_await connection.send(ping_answer());
        (void)co_await connection.read_some();
        begun = true;
        co_await connection.wait_until_client_closes();
    });
    Cancellable upload(stub.io, stub.engine->put_archive(container_id, "/", *tar));
    run_until(stub.io, [&] { return begun; });
    upload.cancel();
    upload.wait();
    tar.reset();
    stub.io.poll();
    CHECK(upload.ended_by_cancellation());
}

TEST_CASE("a cancelled call leaves the connection good for the next one") {
    OverStub stub(StubServer::engine(volume_answer));
    REQUIRE(stub.run(stub.engine->ping()));
    Cancellable call(stub.io, stub.engine->inspect_volume("a"));
    run_until(stub.io, [&] { return !stub.server.requests().empty(); });
    call.cancel();
    call.wait();
    CHECK(call.ended_by_cancellation());
    CHECK(stub.run(stub.engine->inspect_volume("b")).value().name == "b");
    CHECK(stub.server.connections() == 1);
}

TEST_CASE("when the call that negotiates is cancelled, another one takes it over") {
    OverStub stub(StubServer::engine(volume_answer));
    Cancellable first(stub.io, stub.engine->inspect_volume("a"));
    Cancellable second(stub.io, stub.engine->inspect_volume("b"));
    first.cancel();
    second.wait();
    CHECK(second.value().value().name == "b");
}

TEST_CASE("an engine may be destroyed right after its calls were cancelled") {
    OverStub stub(
        [](StubConnection connection) -> Task<void> { co_await connection.wait_until_client_closes(); });
    Cancellable call(stub.io, stub.engine->inspect_volume("a"));
    run_until(stub.io, [&] { return stub.server.connections() == 1; });
    call.cancel();
    stub.engine.reset();
    call.wait();
    CHECK(call.ended_by_cancellation());
}

TEST_CASE("destroying an engine ends its calls with an error") {
    OverStub stub(
        [](StubConnection connection) -> Task<void> { co_await connection.wait_until_client_closes(); });
    Cancellable call(stub.io, stub.engine->inspect_volume("a"));
    run_until(stub.io, [&] { return stub.server.connections() == 1; });
    stub.engine.reset();
    call.wait();
    CHECK(call.value().error().message == "the connection to the engine was closed");
}

} // namespace connection_test
