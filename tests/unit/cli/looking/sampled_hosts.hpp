// Hosts with a node each, which tells samples for as long as it is asked.
#pragma once

#include "client/cli/context.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "shared/wire/sample.hpp"
#include "unit/plan/cluster_builder.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dockdist::testing {

class SampledHosts {
public:
    explicit SampledHosts(int count) {
        cluster.spec = spec_of(count);
        for (int i = 0; i < count; ++i) {
            const auto node = "node-" + std::to_string(i);
            auto engine = std::make_unique<FakeEngine>(io.get_executor(), node);
            engine
                ->add_container("dockdist-vision-" + node, {.image = cluster.spec.image.ref,
                                                            .labels = {{labels::cluster, "vision"},
                                                                       {labels::role, "node"},
                                                                       {labels::node, node},
                                                                       {labels::rank, std::to_string(i)}}})
                .log = wire::ready_record_line(
                {.node = node, .rank = i, .address = "10.0.0." + std::to_string(i + 1), .ssh_port = 2222},
                "h1");
            engine->on_exec("sample", [this](FakeExec exec) -> Task<int> {
                exec.out(wire::facts_line(facts) + wire::sample_line(sample));
                (void)co_await exec.read_all();
                co_return 0;
            });
            fakes.push_back(engine.get());
            cluster.engines.push_back(std::move(engine));
        }
        context.executor = io.get_executor();
        context.reporter = &reporter;
    }

    boost::asio::io_context io{};
    Connected cluster{};
    std::vector<FakeEngine*> fakes{};
    wire::SampleFacts facts{.cpus = 8}; // of all of them
    wire::Sample sample{.clock_ms = 1};
    NoReport reporter{};
    Context context{};
};

} // namespace dockdist::testing
