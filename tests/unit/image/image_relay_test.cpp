#include "async/run_all.hpp"
#include "fakes/cancellable.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/run_task.hpp"
#include "image/image_relay.hpp"
#include "image/temporary_files.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <fstream>
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
    ImageRelay relay{engine, "node-0",
                     RelaySetting{.container = "vision-relay",
                                  .image = ImageRef("dockdist-relay:1"),
                                  .address = "10.0.0.1",
                                  .place = {.type = Mount::Type::volume, .target = relay_folder}},
                     "t0ken", 1000};
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

} // namespace image_relay_test
