#include "client/async/run_all.hpp"
#include "client/container/image_address.hpp"
#include "client/relay/relay_host.hpp"
#include "fakes/fake_engine.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace relay_hand_on_test {

using namespace dockdist;

namespace {

const std::string image = "dockdist-relay:t1";
const std::string digest = "sha256:" + std::string(64, 'a');

struct Hosts {
    explicit Hosts(int count) {
        programs.add("amd64", {.image = ImageRef(image),
                               .program = {.tar = "tar"},
                               .hand_on = std::make_unique<HandOn>(
                                   HandedOn{.repository = "dockdist-relay", .tag = "t1", .digest = digest},
                                   [this](const Error& error) { warnings.push_back(error); })});
        for (int i = 0; i < count; ++i) {
            const auto name = "node-" + std::to_string(i);
            auto& engine = *engines.emplace_back(std::make_unique<FakeEngine>(io.get_executor(), name));
            engine.on_call = [&engine](const std::string& call) {
                const auto from =
                    call.starts_with("pull_image ") ? address_in(ImageRef(call.substr(11))) : std::nullopt;
                if (from) {
                    engine.on_pull(call.substr(11));
                    engine.add_image(image);
                    engine.images[image].layers = {digest};
                }
            };
            engine.on_exec("/dockdist-relay relay give-self", [this, i](FakeExec exec) -> Task<int> {
                most_at_once = std::max(most_at_once, ++giving[i]);
                const auto opening = wire::parse_relay_opening((co_await exec.read_line()).value_or(""));
                exec.out(wire::to_line(wire::RelayMessage{.address = opening->address, .peer_port = 4000}));
                co_await exec.read_all();
                --giving[i];
                co_return 0;
            });
            relays.push_back(std::make_unique<RelayHost>(
                engine, name,
                RelaySetting{
                    .container = name, .programs = &programs, .address = "10.0.0." + std::to_string(i + 1)}));
        }
    }

    std::vector<Status> make_containers() {
        std::vector<Task<Status>> tasks;
        for (const auto& relay : relays) {
            tasks.push_back(relay->make_container());
        }
        return run_task(io, run_all(std::move(tasks)));
    }

    std::size_t calls(const std::string& begin) const {
        std::size_t count = 0;
        for (const auto& engine : engines) {
            count += static_cast<std::size_t>(std::ranges::count_if(
                engine->calls, [&](const std::string& call) { return call.starts_with(begin); }));
        }
        return count;
    }

    boost::asio::io_context io{};
    std::vector<Error> warnings{};
    std::map<int, int> giving{}; // by host: to so many
    int most_at_once = 0;
    RelayPrograms programs{{}, 0, {}};
    std::vector<std::unique_ptr<FakeEngine>> engines{};
    std::vector<std::unique_ptr<RelayHost>> relays{};
};

} // namespace

TEST_CASE("few bytes to few hosts are not worth to be handed on") {
    CHECK_FALSE(HandOn::is_worth_it(2, 1ULL << 40U));
    CHECK_FALSE(HandOn::is_worth_it(8, 500'000));
    CHECK(HandOn::is_worth_it(3, 25'000'000));
    CHECK(HandOn::is_worth_it(256, 500'000));
}

TEST_CASE("a relay's image leaves this machine twice, and relays hand it on") {
    Hosts hosts(9);
    for (const auto& made : hosts.make_containers()) {
        CHECK(made.has_value());
    }
    CHECK(hosts.calls("import_image " + image) == 2);
    CHECK(hosts.calls("pull_image http://10.0.0.") == 7);
    CHECK(hosts.calls("start_container") == 9);
    CHECK(hosts.most_at_once == 2); // of one giver
    CHECK(hosts.warnings.empty());
}

TEST_CASE("two hosts of a file that are one engine import the relay's image once") {
    Hosts hosts(1);
    auto& twin = *hosts.relays.emplace_back(std::make_unique<RelayHost>(
        *hosts.engines[0], "twin",
        RelaySetting{.container = "twin", .programs = &hosts.programs, .address = "10.0.0.1"}));
    for (const auto& made : hosts.make_containers()) {
        CHECK(made.has_value());
    }
    CHECK_FALSE(twin.container().empty());
    CHECK(hosts.calls("import_image " + image) == 1);
    CHECK(hosts.calls("start_container") == 2);
}

TEST_CASE("a host where the image or the container fails is told, and another one takes its place") {
    Hosts hosts(4);
    hosts.engines[0]->fail("import_image", {ErrorKind::engine, "", "no space left on device", ""});
    hosts.engines[1]->fail("start_container", {ErrorKind::engine, "", "no more processes", ""});
    const auto made = hosts.make_containers();
    CHECK(made[0].error().message == "no space left on device");
    CHECK(made[1].error().message == "no more processes");
    CHECK(made[2].has_value());
    CHECK(made[3].has_value());
}

TEST_CASE(
    "a relay reaches a folder of its host whatever label SELinux has for it; a volume has the right one") {
    boost::asio::io_context io;
    for (const auto type : {Mount::Type::bind, Mount::Type::volume}) {
        FakeEngine engine(io.get_executor());
        RelayPrograms programs({}, 0, {});
        programs.add("amd64", {.image = ImageRef(image)});
        RelayHost relay(
            engine, "node-0",
            {.container = "r", .programs = &programs, .place = {.type = type, .target = "/data"}});
        CHECK(run_task(io, relay.make_container()).has_value());
        CHECK(engine.container("r").config.no_label == (type == Mount::Type::bind));
        CHECK(engine.container("r").config.no_new_privileges);
    }
}

TEST_CASE("each host runs the relay of its own architecture, and gets it from such hosts alone") {
    Hosts hosts(6);
    const std::string other = "dockdist-relay:t2";
    hosts.programs.add("arm64", {.image = ImageRef(other), .program = {.tar = "tar"}});
    for (std::size_t i = 0; i < 2; ++i) {
        hosts.engines[i]->engine_info.architecture = "aarch64";
    }
    for (const auto& made : hosts.make_containers()) {
        CHECK(made.has_value());
    }
    CHECK(hosts.engines[0]->container("node-0").config.image == ImageRef(other));
    CHECK(hosts.engines[5]->container("node-5").config.image == ImageRef(image));
    CHECK(hosts.calls("import_image " + other) == 2);
    CHECK(hosts.calls("import_image " + image) == 2);
    CHECK(hosts.calls("pull_image http://10.0.0.") == 2);
}

TEST_CASE("a host for which there is no relay is told") {
    Hosts hosts(1);
    hosts.engines[0]->engine_info.architecture = "riscv64";
    const auto made = hosts.make_containers();
    REQUIRE_FALSE(made[0].has_value());
    CHECK(made[0].error().message == "the host is riscv64, for which this dockdist has no relay");
    CHECK(hosts.calls("create_container") == 0);
}

} // namespace relay_hand_on_test
