// Streams on the connection that an engine has anyway.
#include "client/async/run_all.hpp"
#include "over_stub.hpp"

#include <doctest/doctest.h>

#include <set>

namespace kept_connection_test {

using namespace dockdist;

namespace {

// Answers calls, and gives an upgraded stream of the connection's number.
Task<void> serve(StubConnection connection) {
    while (const auto request = co_await connection.read_request()) {
        if (request->target == "/_ping") {
            co_await connection.send(ping_answer());
        } else if (request->target.ends_with("/start")) {
            co_await connection.send("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n" +
                                     stdio_frame(1, std::to_string(connection.number())));
            co_await connection.wait_until_client_closes();
            co_return;
        } else {
            co_await connection.send(http_answer(200, R"({"Name":"v"})"));
        }
    }
}

Task<Result<std::string>> connection_of_a_stream(ContainerEngine& engine) {
    auto stream = co_await engine.start_exec(ExecId("e"));
    CO_TRY(stream);
    auto chunk = co_await (*stream)->read();
    CO_TRY(chunk);
    co_return chunk->bytes;
}

} // namespace

TEST_CASE("a stream takes the kept connection that lies idle, and the next call opens another") {
    OverStub stub(serve);
    CHECK(stub.run(stub.engine->inspect_volume("v")));
    CHECK(stub.run(connection_of_a_stream(*stub.engine)).value() == "1");
    CHECK(stub.server.connections() == 1);
    CHECK(stub.run(stub.engine->inspect_volume("v")));
    CHECK(stub.server.connections() == 2);
    CHECK(stub.run(connection_of_a_stream(*stub.engine)).value() == "2");
    CHECK(stub.server.connections() == 2);
}

TEST_CASE("streams asked for side by side have a connection each") {
    OverStub stub(serve);
    CHECK(stub.run(stub.engine->inspect_volume("v")));
    std::vector<Task<Result<std::string>>> tasks;
    for (int i = 0; i < 3; ++i) {
        tasks.push_back(connection_of_a_stream(*stub.engine));
    }
    std::set<std::string> numbers;
    for (const auto& number : stub.run(run_all(std::move(tasks)))) {
        numbers.insert(number.value());
    }
    CHECK(numbers == std::set<std::string>{"1", "2", "3"});
}

TEST_CASE("a stream does not take a connection on which a call is under way") {
    OverStub stub([](StubConnection connection) -> Task<void> {
        if (connection.number() > 1) {
            co_await serve(connection);
            co_return;
        }
        (void)co_await connection.read_request();
        co_await connection.send(ping_answer());
        (void)co_await connection.read_request(); // of the volume: not answered before the stream is there
        co_await connection.wait_until_client_closes();
    });
    CHECK(stub.run(stub.engine->ping()));
    std::vector<Task<Status>> both;
    both.push_back([](ContainerEngine& engine) -> Task<Status> {
        const auto volume = co_await engine.inspect_volume("v");
        co_return volume ? Status(ok) : Status(volume.error());
    }(*stub.engine));
    both.push_back([](OverStub& over) -> Task<Status> {
        const auto number = co_await connection_of_a_stream(*over.engine);
        CHECK(number.value() == "2");
        over.engine.reset(); // ends the call
        co_return ok;
    }(stub));
    CHECK_FALSE(stub.run(run_all(std::move(both))).front());
}

TEST_CASE("a stream does not take a connection that the engine has closed") {
    OverStub stub([](StubConnection connection) -> Task<void> {
        if (connection.number() > 1) {
            co_await serve(connection);
            co_return;
        }
        (void)co_await connection.read_request();
        co_await connection.send(ping_answer()); // and closes
    });
    CHECK(stub.run(stub.engine->ping()));
    stub.io.restart();
    stub.io.poll(); // the server's side of it
    CHECK(stub.run(connection_of_a_stream(*stub.engine)).value() == "2");
}

} // namespace kept_connection_test
