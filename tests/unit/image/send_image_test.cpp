#include "client/image/send_image.hpp"
#include "fakes/cancellable.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/image_tar.hpp"
#include "fakes/warnings.hpp"
#include "unit/plan/cluster_builder.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace send_image_test {

using namespace dockdist;

namespace {

// One machine that has the image, and hosts that lack it.
struct Hosts {
    explicit Hosts(int count, bool over_plain_http = false) : spec(testing::spec_of(count)) {
        source.exports["train:1"] = testing::image_tar(layer);
        image.layers = {sha256_of(layer)};
        for (const auto& host : spec.hosts) {
            auto engine = std::make_unique<FakeEngine>(io.get_executor(), host.name.str());
            engine->on_exec("/dockdist-relay relay", [](FakeExec exec) -> Task<int> {
                co_await exec.read_line();
                exec.out(wire::to_line(
                    wire::RelayMessage{.engine_port = 4000, .address = "10.0.0.1", .peer_port = 4001}));
                co_await exec.read_all();
                co_return 0;
            });
            if (!over_plain_http) {
                engine->fail("pull_image", {ErrorKind::engine, "",
                                            "pull image 127.0.0.1:4000/dockdist/image@sha256:0: http: server "
                                            "gave HTTP response to HTTPS client",
                                            ""});
            }
            engine->loaded = image;
            engine->loaded_name = "train:1";
            engine->hold("load_image");
            fakes.push_back(engine.get());
            engines.push_back(std::move(engine));
        }
    }
    Task<Errors> send() {
        SendSetting setting{.ref = ref,
                            .source = {.engine = &source, .name = "this machine", .image = image},
                            .hosts = {},
                            .toolkits =
                                Toolkits({{.architecture = "amd64",
                                           .version = "1",
                                           .tar = [this] { return std::span<const char>(toolkit); }}}),
                            .attempt = "a1",
                            .origin = "ops@box:/c.yaml"};
        for (std::size_t i = 0; i < engines.size(); ++i) {
            setting.hosts.push_back(i);
        }
        return send_image(spec, engines, std::move(setting), warnings);
    }
    bool loads(std::size_t host) const {
        return std::ranges::find(fakes[host]->calls, "load_image") != fakes[host]->calls.end();
    }
    std::size_t loading() const {
        std::size_t count = 0;
        for (std::size_t i = 0; i < fakes.size(); ++i) {
            count += loads(i) ? 1 : 0;
        }
        return count;
    }

    boost::asio::io_context io{};
    ImageRef ref{"train:1"};
    const std::string layer = "layer";
    const std::string toolkit = testing::tar_file("libexec/dockdist-init", "ELF") +
                                testing::tar_file("libexec/dockdist-relay", "ELF") + ustar_end();
    FakeEngine source{io.get_executor(), "this machine"};
    ImageDetails image{};
    ClusterSpec spec;
    Engines engines{};
    std::vector<FakeEngine*> fakes{};
    Warnings warnings{};
};

} // namespace

TEST_CASE("of hosts that must load the image two do so at once, and what all of it costs is told once") {
    Hosts hosts(3);
    Cancellable sending(hosts.io, hosts.send());
    run_until(hosts.io, [&] { return hosts.loads(1); });
    hosts.io.poll();
    CHECK(hosts.loading() == 2);
    REQUIRE(hosts.warnings.texts.size() == 1);
    CHECK(hosts.warnings.texts[0].starts_with(
        "node-0, node-1, node-2: their engines do not take images from their own loopback over plain HTTP: "
        "loading it from this machine, 12.0 KiB more over this machine's link, 4.0 KiB for each host; "));
    hosts.fakes[0]->release("load_image");
    run_until(hosts.io, [&] { return hosts.loads(2); });
    hosts.fakes[1]->release("load_image");
    hosts.fakes[2]->release("load_image");
    sending.wait();
    CHECK(sending.value().empty());
    for (const auto* engine : hosts.fakes) {
        CHECK(engine->containers.empty());
        REQUIRE(engine->images.size() == 1);
        CHECK(engine->images.begin()->first == "train:1");
        // Whatever an engine makes of a short name: it gets the whole one.
        CHECK(engine->loads.at(0).find("\"docker.io/library/train:1\"") != std::string::npos);
    }
}

TEST_CASE("a load that is cut off leaves no container, and no name but the image's own") {
    Hosts hosts(2);
    hosts.fakes[1]->fail("load_image",
                         {ErrorKind::engine, "", "load an image: write: no space left on device", ""});
    Cancellable sending(hosts.io, hosts.send());
    run_until(hosts.io, [&] { return hosts.loading() == 2; });
    sending.cancel();
    sending.wait();
    CHECK(sending.ended_by_cancellation());
    for (const auto* engine : hosts.fakes) {
        CHECK(engine->containers.empty());
        CHECK(engine->images.empty());
    }
}

TEST_CASE("the name that an image has on its way goes, whatever comes of the pull") {
    Hosts hosts(1, true);
    auto& engine = *hosts.fakes[0];
    const std::string pull = "pull_image ";
    engine.on_call = [&](const std::string& call) {
        if (call.starts_with(pull)) {
            engine.on_pull(call.substr(pull.size())); // of other layers
        }
    };
    const auto errors = run_task(hosts.io, hosts.send());
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].message == "what arrived is not the image that was sent");
    CHECK(engine.images.empty());
    CHECK(engine.containers.empty());
}

TEST_CASE("of an image without a tag one is read, and not all of its name") {
    Hosts hosts(0);
    hosts.ref = ImageRef("train");
    hosts.source.exports["train:latest"] = hosts.source.exports["train:1"];
    CHECK(run_task(hosts.io, hosts.send()).empty());
    CHECK(hosts.source.calls == std::vector<std::string>{"export_image train:latest"});
}

TEST_CASE(
    "where the image cannot lie here, or is for another machine than its engine's, it is said what to do") {
    Hosts hosts(0);
    hosts.image.size = Bytes{3 << 20};
    const char* before = std::getenv("TMPDIR");
    const std::string kept = before == nullptr ? "" : before;
    ::setenv("TMPDIR", "/nowhere", 1);
    auto errors = run_task(hosts.io, hosts.send());
    if (kept.empty()) {
        ::unsetenv("TMPDIR");
    } else {
        ::setenv("TMPDIR", kept.c_str(), 1);
    }
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].message == "cannot be used: No such file or directory (the image has about 3.0 MiB)");
    CHECK(errors[0].hint == "set TMPDIR to a folder with room for the image");
    hosts.source.fail("export_image",
                      {ErrorKind::engine, "", "no manifest found for platform: not found", ""});
    errors = run_task(hosts.io, hosts.send());
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].hint.starts_with("that engine only hands out what is for its own machine"));
}

} // namespace send_image_test
