#include "client/async/async_event.hpp"
#include "client/check/check.hpp"
#include "client/plan/labels.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "fakes/run_task.hpp"
#include "golden.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <regex>

namespace check_test {

using namespace dockdist;
using nlohmann::json;

namespace {

std::string address_of(int i) {
    return "10.0.0." + std::to_string(i + 1);
}

// Ready nodes, one a host, whose half of the conversation is played.
struct FakeNodes {
    explicit FakeNodes(int count, const std::string& gpus = "none") : all_asked(io.get_executor()) {
        spec.name = ClusterName("vision");
        spec.image.ref = ImageRef("train:1");
        spec.container.mounts = {{.source = "/data", .target = "/data"}};
        for (int i = 0; i < count; ++i) {
            const auto name = "node-" + std::to_string(i);
            HostSpec host;
            host.name = HostName(name);
            host.gpus.kind = gpus == "none" ? GpuSpec::Kind::none : GpuSpec::Kind::all;
            host.docker.url = "tcp://" + address_of(i);
            spec.hosts.push_back(host);
            add_engine(name, i);
            facts.push_back(facts_of(i, count));
        }
    }

    CheckReport check(const std::vector<std::string>& hosts = {}) {
        return run_task(io,
                        check_cluster(spec, engines, select_for_check(spec, hosts).value(), {}, reporter));
    }

    boost::asio::io_context io{};
    AsyncEvent all_asked;
    int asked = 0;
    ClusterSpec spec{};
    Engines engines{};
    std::vector<FakeEngine*> fakes{};
    std::vector<json> facts{};
    std::vector<std::string> forgotten{}; // nodes
    NoReport reporter{};

private:
    void add_engine(const std::string& name, int i) {
        auto engine = std::make_unique<FakeEngine>(io.get_executor(), name);
        engine->add_image("train:1");
        engine->images["train:1"].layers = {"one", "two"};
        engine->engine_info.version = "29.5.1";
        engine->engine_info.api = {1, 52};
        engine->engine_info.root_dir = "/var/lib/docker";
        ContainerConfig config;
        config.image = ImageRef("train:1");
        config.labels = {{labels::cluster, "vision"},
                         {labels::node, name},
                         {labels::role, "node"},
                         {labels::rank, std::to_string(i)}};
        engine->add_container("dockdist-vision-" + name, config);
        wire::NodeRecord record{
            .node = name, .rank = i, .address = address_of(i), .interface = "eth0", .ssh_port = 2222};
        engine->append_log("dockdist-vision-" + name, wire::ready_record_line(record, "h"));
        engine->on_exec("check", [this, i](FakeExec exec) -> Task<int> { return play(exec, i); });
        engine->on_exec("dockdist-init gpus", wire::gpu_report_line({}));
        fakes.push_back(engine.get());
        engines.push_back(std::move(engine));
    }

    // Nobody answers before everybody was asked: a client that asks one after the other waits for ever.
    Task<int> play(FakeExec exec, int i) {
        while (const auto line = co_await exec.read_line()) {
            const auto question = json::parse(*line);
            const auto ask = question.at("ask").get<std::string>();
            json answer{{"answer", ask}};
            if (ask == "facts") {
                if (++asked == static_cast<int>(engines.size())) {
                    all_asked.set();
                }
                co_await all_asked.wait();
                answer.update(facts[static_cast<std::size_t>(i)]);
            } else if (ask == "look") {
                answer["seen"]["/data"] = question.at("nodes");
            } else if (ask == "links-listen") {
                answer["port"] = 20000 + i;
            } else if (ask == "links-meet") {
                for (const auto& peer : question.at("peers")) {
                    answer["links"].push_back(
                        {{"node", peer.at("node")}, {"outcome", "open"}, {"latency_us", 40}});
                }
            } else {
                forgotten.push_back("node-" + std::to_string(i));
            }
            exec.out(answer.dump() + "\n");
        }
        co_return 0;
    }

    static json facts_of(int i, int count) {
        auto addresses = json::object();
        auto logins = json::array();
        for (int j = 0; j < count; ++j) {
            const auto name = "node-" + std::to_string(j);
            addresses[name] = json::array({address_of(j)});
            if (i != j) {
                logins.push_back({{"peer", name}, {"ok", true}, {"ms", 80 + i}});
            }
        }
        const json room{{"free", std::uint64_t{50} << 30U}, {"size", std::uint64_t{64} << 30U}};
        return {
            {"limits", {{"memlock", -1}, {"nofile", 1048576}, {"stack", 64 << 20}, {"nproc", -1}}},
            {"system",
             {{"machine", "x86_64"},
              {"disk", room},
              {"shm", room},
              {"governors", json::object()},
              {"rdma", json::array()},
              {"jobs", json::array()}}},
            {"network",
             {{"interface", "eth0"}, {"there", true}, {"up", true}, {"address_there", true}, {"mtu", 1500}}},
            {"names",
             {{"by", "getent"}, {"hostname", "node-" + std::to_string(i)}, {"addresses", addresses}}},
            {"nccl", json::object()},
            {"ssh", logins},
            {"mounts", {{"/data", {{"folder", true}, {"written", true}}}}},
            {"programs",
             {{"python",
               {{"code", 0}, {"output", "python 3.11.9\ntorch 2.6.0\nnvidia-nccl-cu12 2.21.5\ncuda 12.4\n"}}},
              {"openssh",
               {{"code", 0}, {"output", "OpenSSH_9.2p1 Debian-2+deb12u10, OpenSSL 3.0.22 1 Jan 2026\n"}}},
              {"gpus",
               {{"code", 0},
                {"output", "0, GPU-aa, NVIDIA H100, 1, 81559, 0, 31, 69, 550.127.08, Disabled, 0\n"}}},
              {"gpu-table", {{"code", 0}, {"output", "CUDA Version: 12.4 |"}}},
              {"gpu-ecc", {{"code", 0}, {"output", "GPU-aa, 0\n"}}}}}};
    }
};

std::string lines_of(const CheckReport& report) {
    const char* const states[] = {"pass", "warn", "FAIL"};
    const char* const layers[] = {"engine", "host", "container", "network", "collective"};
    std::string text;
    for (const auto& row : report.rows) {
        text += fmt::format("{} | {} | {} | {} | {}\n", layers[static_cast<int>(row.layer)],
                            states[static_cast<int>(row.state)], row.subject, row.check, row.text);
    }
    return std::regex_replace(text, std::regex("round trip [0-9.]+ ms"), "round trip … ms");
}

} // namespace

TEST_CASE("what is the same everywhere is one row: four nodes on which all is well") {
    FakeNodes cluster(4, "all");
    const auto report = cluster.check();
    CHECK(report.passed());
    CHECK(report.nodes.size() == 4);
    CHECK(report.gpus.size() == 4);
    check_golden("check/four-nodes-well.txt", lines_of(report));
    CHECK(cluster.forgotten.size() == 4);
}

TEST_CASE("four nodes, each with another fault") {
    FakeNodes cluster(4, "all");
    cluster.facts[0]["names"]["addresses"]["node-0"] = json::array({"127.0.1.1"});
    cluster.facts[1]["programs"]["gpus"]["output"] =
        "0, GPU-aa, NVIDIA H100, 1, 81559, 0, 31, 69, 535.1, Disabled, 0\n";
    cluster.facts[1]["network"]["mtu"] = 9000;
    cluster.facts[2]["system"]["disk"]["free"] = 1U << 30U;
    cluster.facts[2]["limits"]["memlock"] = 65536;
    cluster.spec.container.ulimits["memlock"] = {-1, -1};
    cluster.facts[2]["programs"]["python"]["output"] = "python 3.11.9\ntorch 2.5.1\n";
    cluster.facts[1]["programs"]["openssh"]["output"] =
        "OpenSSH_9.2p1 Debian-2+deb12u3, OpenSSL 3.0.15 3 Sep 2024\n";
    cluster.fakes[3]->images["train:1"].layers = {"one", "three"};
    cluster.fakes[3]->engine_info.version = "26.1.5";
    cluster.facts[3]["system"] = {{"error", {{"kind", "timeout"}, {"message", "no end within 16 s"}}}};
    const auto report = cluster.check();
    CHECK_FALSE(report.passed());
    for (const auto& row : report.rows) {
        CAPTURE(row.text);
        CHECK((row.state == CheckRow::State::pass) == row.hint.empty());
    }
    check_golden("check/four-nodes-faults.txt", lines_of(report));
}

TEST_CASE("all hosts are asked side by side, with as many round trips to each whatever their number") {
    std::size_t calls = 0;
    for (const int hosts : {2, 16, 64}) {
        CAPTURE(hosts);
        FakeNodes cluster(hosts);
        const auto report = cluster.check();
        CHECK(report.passed());
        const auto& last = cluster.fakes.back()->calls;
        calls = calls == 0 ? last.size() : calls;
        CHECK(last.size() == calls);
        // ping, list, log; three pings and info for the engine's row; exec create and start; the image.
        CHECK(last.size() <= 12);
        // A row for each engine and each container, and otherwise the same ones.
        CHECK(report.rows.size() == 2 * static_cast<std::size_t>(hosts) + 16);
    }
}

TEST_CASE("a check of one host asks no other") {
    FakeNodes cluster(3);
    cluster.asked = 2; // the one is all
    const auto report = cluster.check({"node-1"});
    CHECK(report.passed());
    CHECK(cluster.fakes[0]->calls.empty());
    CHECK(cluster.fakes[2]->calls.empty());
    REQUIRE(report.nodes.size() == 1);
    for (const auto& row : report.rows) {
        CHECK(row.subject == "node-1");
    }
}

TEST_CASE("a node that ends the conversation, or does not know the question, fails by name; the others are "
          "told of") {
    for (const auto* answer :
         {"", "not json\n", "{\"answer\":\"other\"}\n",
          "{\"answer\":\"facts\",\"error\":{\"kind\":\"node\",\"message\":\"broken\",\"hint\":\"\"}}\n"}) {
        CAPTURE(answer);
        FakeNodes cluster(3);
        cluster.asked = 1;
        cluster.fakes[1]->on_exec("check", [answer](FakeExec exec) -> Task<int> {
            co_await exec.read_line();
            exec.out(answer);
            co_return 0;
        });
        const auto report = cluster.check();
        CHECK_FALSE(report.passed());
        const auto failed = std::ranges::find(report.rows, CheckRow::State::fail, &CheckRow::state);
        CHECK(failed->subject == "node-1");
        CHECK(failed->check == "container");
        CHECK(failed->text.starts_with("it does not answer: "));
        CHECK(std::ranges::count(report.rows, CheckRow::State::fail, &CheckRow::state) == 1);
    }
}

TEST_CASE("a host that is not reached, and a node that is not up") {
    FakeNodes cluster(3);
    cluster.asked = 2;
    cluster.fakes[0]->fail("ping", {ErrorKind::unreachable, "", "Connection refused", "start it"}, -1);
    cluster.fakes[1]->containers.clear();
    const auto report = cluster.check();
    REQUIRE(report.rows.size() > 2);
    CHECK(report.rows[0].text == "Connection refused");
    CHECK(report.rows[0].hint == "start it");
    const auto gone = std::ranges::find(report.rows, std::string("the node is not up"), &CheckRow::text);
    REQUIRE(gone != report.rows.end());
    CHECK(gone->subject == "node-1");
    CHECK(gone->hint == "run `dockdist up`");
}

} // namespace check_test
