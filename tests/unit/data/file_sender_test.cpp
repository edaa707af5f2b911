#include "client/data/file_sender.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "fakes/run_task.hpp"
#include "unit/node/scratch.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <map>
#include <memory>

namespace file_sender_test {

using namespace dockdist;

namespace {

// printf 'hello\n' | sha256sum
const std::string hello = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";

using Lines = std::vector<std::string>;
using Script = std::function<Task<void>(FakeExec&, Lines&)>;

std::string line(std::string text) {
    text.pop_back();
    return text;
}

std::string digest_line(const std::string& digest) {
    return line(wire::to_line(wire::RelayDigest{0, digest}));
}

// Hosts whose relays do as each script says once they were told everything, and what they heard from then on.
struct Sending {
    Sending() {
        std::ofstream(scratch / "f") << "hello\n";
        tree = *scan(scratch.path, {.ignore_files = false});
    }

    FileRelay host(const std::string& name, bool origin, Script script) {
        auto& engine = *engines.emplace_back(std::make_unique<FakeEngine>(io.get_executor(), name));
        engine.on_exec("/dockdist-relay relay", [this, name, origin, script](FakeExec exec) -> Task<int> {
            const auto opening = wire::parse_relay_opening((co_await exec.read_line()).value_or(""));
            CHECK(opening->tree);
            CHECK(opening->origin == origin);
            exec.out(wire::to_line(wire::RelayMessage{.address = "10.0.0.1", .peer_port = 4001}));
            peers[name] = *wire::parse_relay_peers((co_await exec.read_line()).value_or(""));
            files[name] = *wire::parse_relay_files((co_await exec.read_line()).value_or(""));
            co_await script(exec, heard[name]);
            while (const auto said = co_await exec.read_line()) {
                heard[name].push_back(*said);
            }
            co_return 0;
        });
        programs.add("amd64", {.image = ImageRef("dockdist-relay:1")});
        auto& relay = *relays.emplace_back(std::make_unique<RelayHost>(
            engine, name, RelaySetting{.container = name, .programs = &programs}));
        REQUIRE(run_task(io, relay.make_container()).has_value());
        auto& node = *nodes.emplace_back(std::make_unique<SyncedNode>());
        node.plan = {.actions = {{.kind = SyncAction::Kind::send, .entry = 0}}, .files = 1, .bytes = 6};
        return {&relay, "0:0", origin ? nullptr : &node};
    }
    void send(FileRelay origin, std::vector<FileRelay> targets) {
        FileSender sender(io.get_executor(), tree, std::move(origin), std::move(targets), reporter);
        run_task(io, sender.run());
    }

    const Scratch scratch{};
    boost::asio::io_context io{};
    NoReport reporter{};
    LocalTree tree{};
    std::vector<std::unique_ptr<FakeEngine>> engines{};
    RelayPrograms programs{{}, 0, {}};
    std::vector<std::unique_ptr<RelayHost>> relays{};
    std::vector<std::unique_ptr<SyncedNode>> nodes{};
    std::map<std::string, Lines> heard{};
    std::map<std::string, wire::RelayPeers> peers{};
    std::map<std::string, wire::RelayFiles> files{};
};

Task<void> hear(FakeExec& exec, Lines& heard, std::size_t count) {
    while (heard.size() < count) {
        const auto said = co_await exec.read_line();
        if (!said) {
            break;
        }
        heard.push_back(*said);
    }
}

const std::string want = wire::to_line(
    wire::RelayMessage{.type = wire::RelayMessage::Type::want, .want = {.first = 0, .count = 1}});
const std::string done = wire::to_line(wire::RelayMessage{.type = wire::RelayMessage::Type::done});

std::string piece(std::int64_t length) {
    return line(wire::to_line(wire::RelayPiece{.length = length, .file = 0}));
}

Task<void> wait_and_end(FakeExec& exec, Lines& heard) {
    co_await hear(exec, heard, 1);
    exec.out(done);
}

} // namespace

TEST_CASE("a file from here goes to the one that asks, and its digest to all before its last byte") {
    Sending sending;
    auto first = sending.host("a", false, [](FakeExec& exec, Lines& heard) -> Task<void> {
        exec.out(want);
        co_await hear(exec, heard, 3);
        exec.out(done);
    });
    auto second = sending.host("b", false, wait_and_end);
    sending.send({}, {first, second});
    CHECK(sending.heard["a"] == Lines{digest_line(hello), piece(6), "hello"});
    CHECK(sending.heard["b"] == Lines{digest_line(hello)});
    CHECK(sending.peers["a"].upstreams.empty());
    CHECK(sending.peers["b"].upstreams.size() == 1);
    const auto& files = sending.files["b"];
    CHECK(files.last);
    REQUIRE(files.files.size() == 1);
    CHECK(files.files[0].name == "f");
    CHECK(files.files[0].size == 6);
    CHECK(sending.nodes[0]->errors.empty());
    CHECK(sending.nodes[1]->errors.empty());
}

TEST_CASE("of what was begun only the rest is sent, and all of it is hashed") {
    Sending sending;
    auto only = sending.host("a", false, [](FakeExec& exec, Lines& heard) -> Task<void> {
        exec.out(wire::to_line(wire::RelayMessage{.type = wire::RelayMessage::Type::want,
                                                  .want = {.first = 0, .count = 1, .offset = 2}}));
        co_await hear(exec, heard, 3);
        exec.out(done);
    });
    sending.send({}, {only});
    CHECK(sending.heard["a"] == Lines{digest_line(hello), piece(4), "llo"});
}

TEST_CASE("a file that is another one by now is given up") {
    Sending sending;
    std::ofstream(sending.scratch / "f") << "other content";
    auto only = sending.host("a", false, [](FakeExec& exec, Lines& heard) -> Task<void> {
        exec.out(want);
        co_await hear(exec, heard, 2);
        exec.out(wire::to_line(wire::RelayMessage{
            .type = wire::RelayMessage::Type::lost, .file = 0, .text = "changed\x1b[2J", .hint = "again"}));
        exec.out(done);
    });
    sending.send({}, {only});
    CHECK(sending.heard["a"] == Lines{digest_line(""), piece(0)});
    REQUIRE(sending.nodes[0]->errors.size() == 1);
    CHECK(sending.nodes[0]->errors[0].where == "a");
    CHECK(sending.nodes[0]->errors[0].message.starts_with("f: changed"));
    CHECK(sending.nodes[0]->errors[0].message.find('\x1b') == std::string::npos);
}

TEST_CASE("where a host has it, the client passes on digests, and no content") {
    Sending sending;
    auto origin = sending.host("o", true, [](FakeExec& exec, Lines&) -> Task<void> {
        for (const auto& digest : {hello, std::string()}) { // the first word counts
            exec.out(wire::to_line(
                wire::RelayMessage{.type = wire::RelayMessage::Type::digest, .digest = {0, digest}}));
        }
        co_return;
    });
    auto target = sending.host("a", false, [](FakeExec& exec, Lines& heard) -> Task<void> {
        exec.out(want);
        co_await hear(exec, heard, 2);
        exec.out(done);
    });
    sending.send(origin, {target});
    CHECK(sending.heard["a"] == Lines{digest_line(hello), piece(0)});
    CHECK(sending.heard["o"].empty());
    CHECK(sending.peers["a"].upstreams.size() == 1);
    CHECK(sending.files["o"].files.size() == 1);
}

TEST_CASE("a relay that says what is not its to say is out of it, and the others are not") {
    for (const auto& lie :
         {wire::RelayMessage{.type = wire::RelayMessage::Type::digest, .digest = {0, hello}},
          wire::RelayMessage{.type = wire::RelayMessage::Type::want, .want = {.first = 1, .count = 1}},
          wire::RelayMessage{.type = wire::RelayMessage::Type::want, .want = {.first = 0, .count = 2}},
          wire::RelayMessage{.type = wire::RelayMessage::Type::lost, .file = 1},
          wire::RelayMessage{.engine_port = 1, .address = "x"}}) {
        Sending sending;
        auto liar = sending.host("a", false, [lie](FakeExec& exec, Lines&) -> Task<void> {
            exec.out(wire::to_line(lie));
            co_return;
        });
        auto honest = sending.host("b", false, [](FakeExec& exec, Lines&) -> Task<void> {
            exec.out(done);
            co_return;
        });
        sending.send({}, {liar, honest});
        REQUIRE(sending.nodes[0]->errors.size() == 1);
        CHECK(sending.nodes[0]->errors[0].kind == ErrorKind::protocol);
        CHECK(sending.nodes[1]->errors.empty());
        CHECK(sending.heard["b"].empty());
    }
}

TEST_CASE("when the host that has it goes, everybody hears that nothing more comes of it") {
    Sending sending;
    auto origin = sending.host("o", true, [](FakeExec& exec, Lines&) -> Task<void> {
        exec.break_stream({ErrorKind::unreachable, "o", "connection reset", ""});
        co_return;
    });
    auto target = sending.host("a", false, wait_and_end);
    sending.send(origin, {target});
    CHECK(sending.heard["a"] == Lines{digest_line("")});
    REQUIRE(sending.nodes[1]->errors.size() == 1);
    CHECK(sending.nodes[1]->errors[0].where == "o");
}

TEST_CASE("when the relay where it is does not start, everybody is told why, and nothing is tried") {
    Sending sending;
    auto origin = sending.host("o", true, {});
    sending.engines.back()->on_exec("/dockdist-relay relay", "", 1, "No such file or directory");
    auto target = sending.host("a", false, {});
    sending.engines.back()->on_exec("/dockdist-relay relay", [](FakeExec exec) -> Task<int> {
        (void)co_await exec.read_line();
        exec.out(wire::to_line(wire::RelayMessage{.address = "10.0.0.1", .peer_port = 4001}));
        (void)co_await exec.read_all();
        co_return 0;
    });
    sending.send(origin, {target});
    REQUIRE(sending.nodes[1]->errors.size() == 1);
    CHECK(sending.nodes[1]->errors[0].where == "o");
    CHECK(sending.nodes[1]->errors[0].message == "the relay did not start: No such file or directory");
}

} // namespace file_sender_test
