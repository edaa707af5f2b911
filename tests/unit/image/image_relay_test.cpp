#include "client/async/run_all.hpp"
#include "client/image/image_relay.hpp"
#include "client/image/temporary_files.hpp"
#include "fakes/cancellable.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/image_tar.hpp"
#include "fakes/run_task.hpp"
#include "shared/digest/sha256.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace image_relay_test {

using namespace dockdist;

namespace {

struct Relaying {
    Relaying() {
        engine.on_exec("/dockdist-relay relay", [this](FakeExec exec) -> Task<int> {
            heard.push_back(co_await exec.read_line());
            exec.out(wire::to_line(
                wire::RelayMessage{.engine_port = 4000, .address = "10.0.0.1", .peer_port = 4001}));
            while (const auto line = co_await exec.read_line()) {
                heard.push_back(line);
                changed.notify();
            }
            co_return 0;
        });
    }
    ~Relaying() { std::filesystem::remove_all(folder); }
    Relaying(const Relaying&) = delete;
    Relaying& operator=(const Relaying&) = delete;

    void begin_file(const std::string& name, const std::string& content) {
        growing.begin(folder / name);
        std::ofstream(folder / name) << content;
        growing.grow(content.size());
    }
    std::unique_ptr<ImageSpool> spool_of_one_layer(const std::string& layer) {
        engine.exports["train"] = testing::image_tar(layer);
        return run_task(io, ImageSpool::fill(
                                engine, ImageRef("train"), [](std::uint64_t) {}, growing))
            .value();
    }
    Task<void> wait_for(std::size_t lines) {
        while (heard.size() < lines) {
            co_await changed.wait_for_change();
        }
    }
    // What the reading of the image does meanwhile.
    Task<Status> read() {
        begin_file("0", "first\n");
        is_read.notify();
        co_await wait_for(3);
        begin_file("1", "second\n");
        begin_file("2", "third\n");
        is_read.notify();
        co_await wait_for(7);
        is_read.set();
        co_return ok;
    }

    boost::asio::io_context io{};
    FakeEngine engine{io.get_executor(), "node-0"};
    std::filesystem::path folder = *make_temporary_folder();
    GrowingFiles growing{};
    AsyncEvent is_read{io.get_executor()}, changed{io.get_executor()};
    std::vector<std::optional<std::string>> heard{};
    RelayPrograms programs{{}, 0, {}};
    const RelayPrograms::One* program = programs.add("amd64", {.image = ImageRef("dockdist-relay:1")});
    ImageRelay relay{engine, "node-0",
                     RelaySetting{.container = "vision-relay",
                                  .programs = &programs,
                                  .address = "10.0.0.1",
                                  .place = {.type = Mount::Type::volume, .target = relay_folder}},
                     "t0ken", 1000};
};

struct Heard : Reporter {
    std::vector<std::string> warnings{};
    std::string progress{}; // the last one
    void on(const Event& event) override {
        if (event.kind == Event::Kind::warning) {
            warnings.push_back(event.subject + ": " + event.text);
        } else if (event.kind == Event::Kind::step_progress) {
            progress =
                fmt::format("{} {} of {}", event.text, event.current.value_or(0), event.total.value_or(0));
        }
    }
    void error(const Error&) override {}
    void finish() override {}
};

Task<Status> both(Relaying& relaying) {
    std::vector<Task<Status>> tasks;
    tasks.push_back(relaying.relay.give_ahead(relaying.growing, relaying.is_read));
    tasks.push_back(relaying.read());
    const auto done = co_await run_all(std::move(tasks));
    co_return done.front();
}

} // namespace

TEST_CASE("what has been read of an image goes to the relay before it is known what it is") {
    Relaying relaying;
    REQUIRE(run_task(relaying.io, relaying.relay.start()).has_value());
    CHECK(relaying.relay.listening().peer_port == 4001);
    const auto& config = relaying.engine.containers.at("vision-relay").config;
    CHECK(config.user == "65534:65534");
    CHECK(config.cap_drop == std::vector<std::string>{"ALL"});
    CHECK(config.no_new_privileges);
    CHECK(config.read_only_root);
    CHECK(config.pids_limit == 512);
    CHECK(run_task(relaying.io, both(relaying)).has_value());
    const auto piece = [](int file, std::int64_t length) {
        auto line = wire::to_line(wire::RelayPiece{.length = length, .file = file});
        line.pop_back();
        return line;
    };
    CHECK(wire::parse_relay_opening(relaying.heard.at(0).value_or("")).value().token == "t0ken");
    CHECK(wire::parse_relay_opening(relaying.heard.at(0).value_or("")).value().most_ahead == 1000);
    relaying.heard.erase(relaying.heard.begin());
    CHECK(relaying.heard == std::vector<std::optional<std::string>>{piece(0, 6), "first", piece(1, 7),
                                                                    "second", piece(2, 6), "third"});
}

TEST_CASE("on an engine of Docker's snap, which starts nothing without it, a relay may gain privileges") {
    Relaying relaying;
    relaying.engine.engine_info.root_dir = "/var/snap/docker/common/var-lib-docker";
    REQUIRE(run_task(relaying.io, relaying.relay.start()).has_value());
    const auto& config = relaying.engine.containers.at("vision-relay").config;
    CHECK_FALSE(config.no_new_privileges);
    CHECK(config.cap_drop == std::vector<std::string>{"ALL"});
}

TEST_CASE("a relay that does not start is told with what it said") {
    Relaying relaying;
    relaying.engine.on_exec("/dockdist-relay relay", "", 1, "cannot listen");
    const auto started = run_task(relaying.io, relaying.relay.start());
    REQUIRE(started.has_error());
    CHECK(started.error().message == "the relay did not start: cannot listen");
}

TEST_CASE("a relay whose create was cut off is removed all the same, however late it appears") {
    for (const int looks : {0, 3}) {
        CAPTURE(looks);
        Relaying relaying;
        auto& engine = relaying.engine;
        engine.hold("create_container");
        Cancellable starting(relaying.io, relaying.relay.start());
        run_until(relaying.io, [&] {
            return !engine.calls.empty() && engine.calls.back().starts_with("create_container");
        });
        starting.cancel();
        starting.wait();
        CHECK(starting.ended_by_cancellation());
        int looked = 0;
        engine.on_call = [&](const std::string& call) {
            if (call.starts_with("inspect_container") && looked++ == looks) {
                engine.add_container("vision-relay");
            }
        };
        CHECK(run_task(relaying.io, relaying.relay.remove()).has_value());
        CHECK(engine.containers.empty());
        CHECK(engine.images.empty());
    }
}

TEST_CASE("an engine that takes nothing over plain HTTP from its own loopback gets the image from here") {
    const std::vector<std::string> layers{sha256_of("layer")};
    for (const bool same : {true, false}) {
        CAPTURE(same);
        Relaying relaying;
        Heard said;
        auto& engine = relaying.engine;
        const auto spool = relaying.spool_of_one_layer("layer");
        REQUIRE(run_task(relaying.io, relaying.relay.start()).has_value());
        REQUIRE(run_task(relaying.io, relaying.relay.tell_image(*spool)).has_value());
        engine.fail(
            "pull_image",
            {ErrorKind::engine, "",
             "pull image 127.0.0.1:4000/dockdist/image@sha256:0: Get \"https://127.0.0.1:4000/v2/\": http: "
             "server gave HTTP response to HTTPS client",
             ""});
        CHECK(run_task(relaying.io, relaying.relay.pull(ImageRef("train"), layers, said)).has_value());
        REQUIRE(relaying.relay.must_load());
        CHECK(said.progress == "wait to be loaded from this machine 0 of 0");
        engine.loaded_name = "train";
        engine.loaded.layers = same ? layers : std::vector{sha256_of("other")};
        const auto loaded = run_task(relaying.io, relaying.relay.load(ImageRef("train"), layers));
        CHECK(loaded.has_value() == same);
        REQUIRE(engine.loads.size() == 1);
        CHECK(engine.loads[0].size() == 4096); // three files, each with its header, and the end
        CHECK(said.progress == "load from this machine 4096 of 4096");
        CHECK(run_task(relaying.io, relaying.relay.clean_up()).has_value());
        CHECK(engine.images.size() == 1); // under its own name, and no other
    }
}

TEST_CASE("a load that fails is told as what it is for, with what the engine's words mean") {
    Relaying relaying;
    Heard said;
    const auto spool = relaying.spool_of_one_layer("layer");
    REQUIRE(run_task(relaying.io, relaying.relay.start()).has_value());
    REQUIRE(run_task(relaying.io, relaying.relay.tell_image(*spool)).has_value());
    relaying.engine.fail("pull_image", {ErrorKind::engine, "", "pull image x: tls: no", ""});
    REQUIRE(run_task(relaying.io, relaying.relay.pull(ImageRef("train"), {}, said)).has_value());
    relaying.engine.fail("load_image",
                         {ErrorKind::engine, "", "load an image: write /l: no space left on device",
                          "free disk space on that host (docker system df)"});
    const auto loaded = run_task(relaying.io, relaying.relay.load(ImageRef("train"), {}));
    REQUIRE(loaded.has_error());
    CHECK(loaded.error().message == "receive train: write /l: no space left on device");
    CHECK(loaded.error().hint == "free disk space on that host (docker system df)");
}

TEST_CASE("what hosts that must load the image cost is told once for all of them") {
    const auto one = load_notice({"node-0"}, false, 3 << 20);
    CHECK(one.where == "node-0");
    CHECK(one.message ==
          "its engine does not take images from its own loopback over plain HTTP: loading it from "
          "this machine, 3.0 MiB more over this machine's link; while it loads it, it needs that "
          "much disk space once more");
    CHECK(one.hint ==
          "\"insecure-registries\": [\"127.0.0.0/8\"] in that host's /etc/docker/daemon.json spares it");
    const auto two = load_notice({"node-0", "node-2"}, true, 3 << 20);
    CHECK(two.where == "node-0, node-2");
    CHECK(two.message ==
          "their engines do not take images from their own loopback over plain HTTP: loading it "
          "from this machine, 6.0 MiB more over this machine's link, 3.0 MiB for each host; while "
          "a host loads it, that host needs that much disk space once more");
    CHECK(two.hint.empty());
}

TEST_CASE("of the errors of a pull, those of TLS are told from others") {
    CHECK(needs_tls("Head \"https://127.0.0.1:5\": http: server gave HTTP response to HTTPS client"));
    CHECK(needs_tls("tls: first record does not look like a TLS handshake"));
    CHECK(needs_tls("x509: certificate signed by unknown authority"));
    CHECK_FALSE(needs_tls("no space left on device"));
    CHECK_FALSE(needs_tls("Head \"https://127.0.0.1:5\": EOF"));
}

} // namespace image_relay_test
