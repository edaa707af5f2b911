#include "client/check/collective.hpp"
#include "client/check/probe_group.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "fakes/run_task.hpp"

#include <doctest/doctest.h>

namespace collective_test {

using namespace dockdist;
using nlohmann::json;

namespace {

// Nodes with a GPU each, on hosts of their own, whose probes all end well at once, or with an error.
struct Nodes {
    boost::asio::io_context io{};
    Engines engines{};
    std::vector<ReadyNode> nodes{};
    std::vector<int> probed{}; // by world sizes: how many nodes were asked
    CheckReport report{};
    NoReport reporter{};

    explicit Nodes(const std::vector<bool>& sound) : probed(sound.size() + 1) {
        for (std::size_t i = 0; i < sound.size(); ++i) {
            const auto name = "node-" + std::to_string(i);
            auto engine = std::make_unique<FakeEngine>(io.get_executor(), "host-" + std::to_string(i));
            ReadyNode node{.name = NodeName(name), .id = engine->add_container("c-" + name).id, .host = i};
            node.record.gpus = 1;
            report.nodes.push_back(node.name);
            nodes.push_back(std::move(node));
            engine->on_exec("dockdist-init probe", [this, ends_well = sound[i]](FakeExec exec) -> Task<int> {
                return probe(exec, ends_well);
            });
            engines.push_back(std::move(engine));
        }
    }
    Task<int> probe(FakeExec exec, bool ends_well) {
        exec.out(wire::rdma_line({}));
        const auto line = co_await exec.read_line();
        const auto order = wire::parse_probe_message(line.value_or(""));
        ++probed.at(order->line->at("world_size").get<std::size_t>());
        if (order->line->at("rank") == 0) {
            exec.out(wire::probe_line(0, {{"type", "id"}, {"id", "the id"}}));
        }
        exec.out(wire::probe_line(0, {{"type", "result"}, {"ok", ends_well}}));
        exec.out(wire::probe_end_line(0, {.code = ends_well ? 0 : 4}));
        (void)co_await exec.read_all();
        co_return 0;
    }
    void run() { run_task(io, check_collective(nodes, engines, std::nullopt, reporter, report)); }
};

} // namespace

TEST_CASE("nodes are measured alone, in pairs where there are more than one, and all together") {
    Nodes two({true, true});
    two.run();
    CHECK(two.probed == std::vector{0, 2, 2});
    Nodes three({true, true, true});
    three.run();
    CHECK(three.probed == std::vector{0, 3, 6, 3});
}

TEST_CASE(
    "a node that fails alone is left out of the rest, and one that is left is not measured with others") {
    Nodes three({true, false, true});
    three.run();
    CHECK(three.probed == std::vector{0, 3, 2, 0});
    Nodes one({true, false});
    one.run();
    CHECK(one.probed == std::vector{0, 2, 0});
}

} // namespace collective_test
