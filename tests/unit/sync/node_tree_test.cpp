// A host that tells of its files what is not so.
#include "client/sync/node_tree.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/run_task.hpp"

#include <doctest/doctest.h>

namespace node_tree_test {

using namespace dockdist;
using wire::SyncMessage;
using wire::TreeEntry;
using Kind = SyncMessage::Kind;
using Type = TreeEntry::Type;

namespace {

SyncMessage told(std::string name, Type type, std::string target = {}) {
    return {
        .kind = Kind::entry, .type = type, .mode = 0644, .name = std::move(name), .text = std::move(target)};
}

// `answers`: to each time that it is asked.
Result<LocalTree> scanned(const std::vector<std::vector<SyncMessage>>& answers,
                          std::vector<std::string> exclude = {}) {
    std::string said;
    for (const auto& answer : answers) {
        for (const auto& message : answer) {
            wire::append(said, message);
        }
        wire::append(said, {.kind = Kind::done});
    }
    boost::asio::io_context io;
    FakeEngine engine(io.get_executor());
    engine.add_image("i");
    engine.on_exec("sync", said);
    return run_task(io, [&]() -> Task<Result<LocalTree>> {
        const auto id = co_await engine.create_container("c", {.image = ImageRef("i")});
        (void)co_await engine.start_container(*id);
        auto stream = co_await NodeStream::open(engine, *id, NodeName("node-0"), {});
        co_return co_await scan_node(**stream, "/data", exclude);
    }());
}

std::vector<std::string> names(const LocalTree& tree) {
    std::vector<std::string> all;
    for (const auto& entry : tree.entries) {
        all.push_back(entry.name);
    }
    return all;
}

} // namespace

TEST_CASE("a tree is listed folder by folder, without what is excluded or leads out") {
    const auto tree = scanned(
        {{told("z", Type::file), told("sub", Type::folder), told("x.tmp", Type::file),
          told("in", Type::link, "sub/a"), told("out", Type::link, "/etc/passwd"), told("pipe", Type::other)},
         {told("sub/a", Type::file)}},
        {"*.tmp"});
    REQUIRE(tree.has_value());
    CHECK(names(*tree) == std::vector<std::string>{"in", "sub", "sub/a", "z"});
    CHECK(tree->left_out ==
          std::vector<std::string>{"out is a link to /etc/passwd, which leads out of the folder",
                                   "pipe is not a file, folder or link"});
    CHECK(tree->index.at("sub/a") == 2);
}

TEST_CASE("what was not asked for, or comes twice, ends it") {
    for (const auto& answers : {std::vector<std::vector<SyncMessage>>{{told("sub/a", Type::file)}},
                                {{told("a", Type::file), told("a", Type::folder)}, {}},
                                {{told(".dockdist-data-1", Type::file)}},
                                {{told("sub", Type::folder)}, {told("a", Type::file)}}}) {
        const auto tree = scanned(answers);
        REQUIRE(tree.has_error());
        CHECK(tree.error().kind == ErrorKind::protocol);
        CHECK(tree.error().where == "node-0");
    }
    CHECK(scanned({{told("../a", Type::file)}}).has_error());
}

TEST_CASE("a folder that cannot be read is told") {
    const auto tree = scanned({{{.kind = Kind::problem, .text = "sub: Permission denied\nown it"}}});
    REQUIRE(tree.has_error());
    CHECK(tree.error().message == "sub: Permission denied");
    CHECK(tree.error().hint == "own it");
}

} // namespace node_tree_test
