// A cluster of fake engines whose nodes play their part of the key exchange.
#pragma once

#include "client/cluster/up.hpp"
#include "client/container/image_address.hpp"
#include "client/observe/observe.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "shared/digest/sha256.hpp"
#include "shared/wire/history.hpp"
#include "shared/wire/join.hpp"
#include "shared/wire/relay.hpp"

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace dockdist::testing {

class FakeCluster {
public:
    explicit FakeCluster(int hosts, std::string toolkit_tar = "tar") : tar(std::move(toolkit_tar)) {
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
            play_giver(*engine, tar);
            fakes.push_back(engine.get());
            engines.push_back(std::move(engine));
        }
    }

    // `layers` of what the engine imports from an address; nullptr: it is refused.
    using Layers = std::function<std::vector<std::string>(const std::string& giver)>;
    static void let_import(FakeEngine& engine, Layers layers) {
        engine.on_call = [&engine, layers = std::move(layers)](const std::string& call) {
            constexpr std::string_view pull = "pull_image ";
            const auto from =
                call.starts_with(pull) ? address_in(ImageRef(call.substr(pull.size()))) : std::nullopt;
            if (from && layers) {
                const auto name = from->repository + ":" + from->tag;
                engine.on_pull(call.substr(pull.size()));
                engine.add_image(name);
                engine.images[name].layers = layers(from->url.substr(0, from->url.rfind('/')));
            }
        };
    }

    UpResult up(std::string attempt = "a1") {
        options.attempt = std::move(attempt);
        options.origin = "ops@box:/cluster.yaml";
        return run_task(io, dockdist::up(spec, engines, toolkits, options, reporter));
    }

    std::size_t stores() const { // on all hosts
        std::size_t count = 0;
        for (const auto* engine : fakes) {
            count += static_cast<std::size_t>(std::ranges::count_if(engine->volumes, [](const auto& volume) {
                return volume.first.starts_with("dockdist-store-");
            }));
        }
        return count;
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

    // The node's side of the join that `text` asks for.
    static Task<int> play_join(FakeEngine& engine, FakeExec exec, std::string text, bool attached) {
        const auto request = wire::parse_join_request(text);
        wire::NodeRecord record;
        record.node = request->node;
        record.rank = request->rank;
        record.address = request->address;
        record.ssh_port = 2222;
        record.settings = request->settings;
        exec.out(wire::hello_line(record));
        const auto line = co_await exec.read_line();
        if (!line) {
            co_return 1;
        }
        if (wire::parse_members_notice(*line)->giver) { // there is no way from node to node
            exec.out(wire::want_line());
        }
        const auto list = co_await exec.read_line();
        if (!list) {
            co_return 1;
        }
        const auto ready = wire::ready_record_line(record, wire::members_hash(*wire::parse_members(*list)));
        engine.append_log(exec.container_name(), ready);
        exec.out(attached ? ready : wire::ready_line());
        co_return 0;
    }

    boost::asio::io_context io{};
    ClusterSpec spec{};
    Engines engines{};
    std::vector<FakeEngine*> fakes{};
    std::vector<std::string> log{};
    UpOptions options{};
    const std::string tar;
    Toolkits toolkits{
        {{.architecture = "amd64", .version = "t1", .tar = [this] { return std::span<const char>(tar); }},
         {.architecture = "arm64", .version = "t2", .tar = [this] { return std::span<const char>(tar); }}}};
    NoReport reporter{};

private:
    // A host that hands the toolkit on, and one that takes it.
    static void play_giver(FakeEngine& engine, const std::string& tar) {
        engine.on_exec("relay unpack", "");
        engine.on_exec("relay give", [](FakeExec exec) -> Task<int> {
            const auto line = co_await exec.read_line();
            const auto opening = wire::parse_relay_opening(line.value_or(""));
            exec.out(wire::to_line(wire::RelayMessage{.address = opening->address, .peer_port = 4000}));
            co_await exec.read_all();
            co_return 0;
        });
        let_import(engine, [&tar](const std::string&) { return std::vector{sha256_of(tar)}; });
    }

    // What dockdist-init does during join, as the client sees it. There are no jobs.
    static void play_node(FakeEngine& engine) {
        engine.on_exec("job list", "");
        engine.on_exec("job kept", wire::to_text(wire::KeptHistory{}));
        engine.on_exec("attach", [&engine](FakeExec exec) -> Task<int> {
            const auto request = co_await exec.read_line();
            if (!request) {
                co_return 0;
            }
            co_return co_await play_join(engine, exec, *request, true);
        });
        engine.on_exec("join", [&engine](FakeExec exec) {
            return play_join(engine, exec, exec.config().command.back(), false);
        });
    }
};

} // namespace dockdist::testing
