#include "client/check/probe_group.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/run_task.hpp"

#include <doctest/doctest.h>

namespace probe_group_test {

using namespace dockdist;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

// Two nodes of one GPU each.
struct TwoNodes {
    boost::asio::io_context io{};
    FakeEngine a{io.get_executor(), "a"}, b{io.get_executor(), "b"};
    ReadyNode node_a{.name = NodeName("node-0")}, node_b{.name = NodeName("node-1")};

    TwoNodes() {
        node_a.id = a.add_container("c-0").id;
        node_b.id = b.add_container("c-1").id;
    }
    void both_say(const std::string& words) {
        for (auto* engine : {&a, &b}) {
            engine->on_exec("dockdist-init probe", [words](FakeExec exec) -> Task<int> {
                exec.out(words);
                (void)co_await exec.read_all();
                co_return 1;
            });
        }
    }
    ProbeWorld run() {
        std::vector<ProbeNode> nodes{{.node = &node_a, .engine = &a, .place = 3, .gpus = 1},
                                     {.node = &node_b, .engine = &b, .place = 5, .gpus = 1}};
        return run_task(io, run_probes(std::move(nodes), {{"iterations", 2}}, std::chrono::hours(1)));
    }
};

void say(FakeExec& exec, json line) {
    exec.out(wire::probe_line(0, std::move(line)));
}

Task<json> hear(FakeExec& exec) {
    const auto line = co_await exec.read_line();
    const auto message = wire::parse_probe_message(line.value_or(""));
    co_return message && message->line ? *message->line : json();
}

void end(FakeExec& exec, int code, int signal = 0) {
    exec.out(wire::probe_end_line(0, {.code = code, .signal = signal}));
}

} // namespace

TEST_CASE("rank 0's id reaches the other node, and both end") {
    TwoNodes nodes;
    json order_of_a;
    json id_at_b;
    nodes.a.on_exec("dockdist-init probe", [&](FakeExec exec) -> Task<int> {
        exec.out(wire::rdma_line({"mlx5_0"}));
        order_of_a = co_await hear(exec);
        say(exec, {{"type", "device"}, {"name", "GPU"}});
        say(exec, {{"type", "id"}, {"id", "the id"}});
        say(exec, {{"type", "measurement"}, {"bytes", 1024}});
        say(exec, {{"type", "result"}, {"ok", true}});
        end(exec, 0);
        (void)co_await exec.read_all();
        co_return 0;
    });
    nodes.b.on_exec("dockdist-init probe", [&](FakeExec exec) -> Task<int> {
        exec.out(wire::rdma_line({}));
        const auto order = co_await hear(exec);
        CHECK(order["rank"] == 1);
        id_at_b = co_await hear(exec);
        say(exec, {{"type", "result"}, {"ok", true}});
        end(exec, 1); // wrong elements: measured to the end all the same
        (void)co_await exec.read_all();
        co_return 0;
    });
    const auto world = nodes.run();
    CHECK(world.complete());
    CHECK(order_of_a ==
          json{{"rank", 0}, {"world_size", 2}, {"device", 0}, {"deadline_ms", 3600000}, {"iterations", 2}});
    CHECK(id_at_b == json{{"id", "the id"}});
    CHECK(world.nodes == std::vector<std::size_t>{3, 5});
    REQUIRE(world.ranks.size() == 2);
    CHECK(world.ranks[0].place == 3);
    CHECK(world.ranks[0].measurements.size() == 1);
    CHECK(world.ranks[0].device["name"] == "GPU");
    CHECK(world.rdma == std::vector<std::vector<std::string>>{{"mlx5_0"}, {}});
}

TEST_CASE("the death of one rank ends the others, which say what they saw") {
    TwoNodes nodes;
    nodes.a.on_exec("dockdist-init probe", [&](FakeExec exec) -> Task<int> {
        (void)co_await hear(exec);
        say(exec, {{"type", "id"}, {"id", "the id"}});
        (void)co_await exec.read_all(); // until it is told to end
        end(exec, 6);
        co_return 0;
    });
    nodes.b.on_exec("dockdist-init probe", [&](FakeExec exec) -> Task<int> {
        (void)co_await hear(exec);
        end(exec, 137, 9);
        (void)co_await exec.read_all();
        co_return 0;
    });
    const auto world = nodes.run();
    CHECK_FALSE(world.complete());
    CHECK(world.errors.empty());
    REQUIRE(world.ranks[0].end);
    CHECK(world.ranks[0].end->code == 6);
    CHECK(world.ranks[1].end->signal == 9);
}

TEST_CASE("a node that cannot be reached is an error, and no probe is left") {
    TwoNodes nodes;
    bool ended = false;
    nodes.a.on_exec("dockdist-init probe", [&](FakeExec exec) -> Task<int> {
        (void)co_await exec.read_all();
        ended = exec.client_gone();
        co_return 0;
    });
    nodes.b.fail("create_exec", {ErrorKind::engine, "", "container is paused", "unpause it"});
    const auto world = nodes.run();
    REQUIRE(world.errors.size() == 1);
    CHECK(world.errors[0].where == "node-1");
    CHECK(world.errors[0].message == "container is paused");
    CHECK(ended);
}

TEST_CASE("what a node says may be anything") {
    for (const auto* words : {"nonsense\n",
                              R"({"probe":0,"line":[]})"
                              "\n",
                              R"({"probe":7,"line":{}})"
                              "\n"}) {
        CAPTURE(words);
        TwoNodes nodes;
        nodes.both_say(words);
        const auto world = nodes.run();
        CHECK_FALSE(world.complete());
        CHECK_FALSE(world.errors.empty());
    }
}

TEST_CASE("a node that talks without end is not listened to without end") {
    std::string measured;
    std::string nonsense;
    for (int i = 0; i < 10'100; ++i) {
        measured += R"({"probe":0,"line":{"type":"measurement"}})"
                    "\n";
        nonsense += "nonsense\n";
    }
    for (const auto& words : {measured, nonsense}) {
        TwoNodes nodes;
        nodes.both_say(words);
        const auto world = nodes.run();
        CHECK_FALSE(world.complete());
        CHECK(world.errors.size() <= 200);
        CHECK(std::ranges::all_of(world.ranks,
                                  [](const auto& rank) { return rank.measurements.size() <= 10'000; }));
    }
}

TEST_CASE("a stream that breaks is told with its node") {
    TwoNodes nodes;
    nodes.a.on_exec("dockdist-init probe", [&](FakeExec exec) -> Task<int> {
        (void)co_await exec.read_all();
        end(exec, 6);
        co_return 0;
    });
    nodes.b.on_exec("dockdist-init probe", [&](FakeExec exec) -> Task<int> {
        (void)co_await hear(exec);
        exec.break_stream({ErrorKind::unreachable, "", "the connection broke", ""});
        co_return 0;
    });
    const auto world = nodes.run();
    REQUIRE_FALSE(world.errors.empty());
    CHECK(world.errors[0].where == "node-1");
}

} // namespace probe_group_test
