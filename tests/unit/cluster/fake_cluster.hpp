// A cluster of fake engines whose nodes play their part of the key exchange.
#pragma once

#include "cluster/up.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "observe/observe.hpp"
#include "wire/join.hpp"

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace dockdist::testing {

class FakeCluster {
public:
    explicit FakeCluster(int hosts) {
        spec.name = ClusterName("vision");
        spec.image.ref = ImageRef("train:1");
        spec.container.devices_auto = false;
        for (int i = 0; i < hosts; ++i) {
            const auto name = "node-" + std::to_string(i);
            HostSpec host;
            host.name = HostName(name);
            host.gpus = {.kind = GpuSpec::Kind::none};
            host.address = "10.0.0." + std::to_string(i + 1);
            host.docker.url = "tcp://" + host.address;
            spec.hosts.push_back(host);
            auto engine = std::make_unique<FakeEngine>(io.get_executor(), name);
            engine->add_image("train:1");
            engine->common_log = &log;
            play_node(*engine);
            fakes.push_back(engine.get());
            engines.push_back(std::move(engine));
        }
    }

    UpResult up(std::string attempt = "a1") {
        options.attempt = std::move(attempt);
        options.origin = "ops@box:/cluster.yaml";
        return run_task(io, dockdist::up(spec, engines, toolkit, options, reporter));
    }

    std::vector<std::string> containers() const {
        std::vector<std::string> names;
        for (std::size_t i = 0; i < fakes.size(); ++i) {
            for (const auto& [name, container] : fakes[i]->containers) {
                names.push_back(std::to_string(i) + ":" + name);
            }
        }
        return names;
    }

    boost::asio::io_context io{};
    ClusterSpec spec{};
    Engines engines{};
    std::vector<FakeEngine*> fakes{};
    std::vector<std::string> log{};
    UpOptions options{};
    const std::string tar = "tar";
    Toolkit toolkit{.tar = tar, .version = "t1"};
    NoReport reporter{};

private:
    // What dockdist-init does during join, as the client sees it. There are no jobs.
    static void play_node(FakeEngine& engine) {
        engine.on_exec("job list", "");
        engine.on_exec("join", [&engine](FakeExec exec) -> Task<int> {
            const auto request = wire::parse_join_request(exec.config().command.back());
            wire::NodeRecord record;
            record.node = request->node;
            record.rank = request->rank;
            record.address = request->address;
            record.ssh_port = 2222;
            exec.out(wire::hello_line(record));
            const auto line = co_await exec.read_line();
            if (!line) {
                co_return 1;
            }
            const auto members = wire::parse_members(*line);
            engine.append_log(exec.container_name(),
                              wire::ready_record_line(record, wire::members_hash(*members)));
            exec.out(wire::ready_line());
            co_return 0;
        });
    }
};

} // namespace dockdist::testing
