// A node that does not keep to the protocol, or wants to write elsewhere.
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "fakes/run_task.hpp"
#include "sync/fetch.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <fstream>

namespace fetch_test {

using namespace dockdist;
using wire::SyncMessage;
using wire::TreeEntry;
using Kind = SyncMessage::Kind;
namespace fs = std::filesystem;

namespace {

std::string encoded(const std::vector<SyncMessage>& messages) {
    std::string bytes;
    for (const auto& message : messages) {
        wire::append(bytes, message);
    }
    return bytes;
}

const SyncMessage a_folder{.kind = Kind::entry, .type = TreeEntry::Type::folder, .mode = 0755};
const SyncMessage whole{.kind = Kind::end_file, .size = 1};
const SyncMessage done{.kind = Kind::done};

SyncMessage file(std::string name) {
    return {.kind = Kind::file, .type = TreeEntry::Type::file, .mode = 0644, .name = std::move(name)};
}
SyncMessage data(std::string text) {
    return {.kind = Kind::data, .text = std::move(text)};
}

Result<Fetched> fetched(const std::string& said, const std::string& into) {
    boost::asio::io_context io;
    FakeEngine engine(io.get_executor());
    NoReport reporter;
    engine.add_image("i");
    engine.on_exec("sync", said);
    return run_task(io, [&]() -> Task<Result<Fetched>> {
        const auto id = co_await engine.create_container("c", {.image = ImageRef("i")});
        (void)co_await engine.start_container(*id);
        auto stream = co_await NodeStream::open(engine, *id, NodeName("node-0"), {});
        co_return co_await fetch(**stream, "/out", into, reporter);
    }());
}

std::string content(const std::string& path) {
    std::ifstream input(path);
    return {std::istreambuf_iterator<char>(input), {}};
}

} // namespace

TEST_CASE("a folder comes as it is") {
    const Scratch scratch;
    const auto got = fetched(encoded({a_folder,
                                      {.kind = Kind::folder, .mode = 0750, .name = "d"},
                                      file("d/f"),
                                      data("ab"),
                                      data("c"),
                                      whole,
                                      {.kind = Kind::link, .name = "d/l", .text = "f"},
                                      {.kind = Kind::warning, .name = "p", .text = "is a pipe"},
                                      done}),
                             scratch / "new/out");
    REQUIRE(got.has_value());
    CHECK(got->files == 1);
    CHECK(got->bytes == 3);
    CHECK(got->left_out == std::vector<std::string>{"p is a pipe"});
    CHECK(content(scratch / "new/out/d/f") == "abc");
    CHECK(fs::read_symlink(scratch / "new/out/d/l") == "f");
}

TEST_CASE("names that lead out end it") {
    for (const auto* name : {"../evil", "/tmp/evil", "a/../../evil"}) {
        const Scratch scratch;
        const auto got = fetched(encoded({a_folder, file(name), data("bad"), whole, done}), scratch / "out");
        REQUIRE(got.has_error());
        CHECK(got.error().kind == ErrorKind::protocol);
        CHECK(got.error().where == "node-0");
        CHECK(!fs::exists(scratch / "evil"));
    }
}

TEST_CASE("a link that the node has sent is not written through") {
    const Scratch scratch;
    fs::create_directory(scratch / "out");
    const auto got = fetched(encoded({a_folder,
                                      {.kind = Kind::link, .name = "in", .text = "."},
                                      file("in/f"),
                                      data("x"),
                                      whole,
                                      {.kind = Kind::link, .name = "l", .text = "../../etc"},
                                      {.kind = Kind::link, .name = "m", .text = "/etc"},
                                      file("m/f"),
                                      data("y"),
                                      whole,
                                      done}),
                             scratch / "out");
    REQUIRE(got.has_value());
    CHECK(got->errors.size() == 4); // in/f, l, m; m/f
    CHECK(!fs::exists(scratch / "out/f"));
    CHECK(!fs::is_symlink(scratch / "out/l"));
    CHECK(!fs::is_symlink(scratch / "out/m"));
}

TEST_CASE("one file gets the name that was chosen here, whatever the node calls it") {
    const Scratch scratch;
    const auto got = fetched(encoded({{.kind = Kind::entry, .type = TreeEntry::Type::file},
                                      file("other/name"),
                                      data("x"),
                                      whole,
                                      done}),
                             scratch / "mine");
    REQUIRE(got.has_value());
    CHECK(content(scratch / "mine") == "x");
    CHECK(std::distance(fs::directory_iterator(scratch.path), fs::directory_iterator()) == 1);
}

TEST_CASE("content without a beginning, garbage, and a node that ends are errors") {
    const Scratch scratch;
    CHECK(fetched(encoded({data("x"), done}), scratch / "o").has_error());
    CHECK(fetched("Usage: nothing like it", scratch / "o").has_error());
    const auto cut = fetched(encoded({a_folder, file("f"), data("x")}), scratch / "o");
    REQUIRE(cut.has_error());
    CHECK(cut.error().message == "its part of the transfer ended");
    CHECK(!fs::exists(scratch / "o/f"));
    CHECK(fs::is_empty(scratch / "o"));
}

TEST_CASE("a path that is not there is told as such") {
    const Scratch scratch;
    const auto got = fetched(
        encoded({{.kind = Kind::problem, .size = wire::ProblemFlags::not_found, .text = "none\n"}, done}),
        scratch / "o");
    REQUIRE(got.has_value());
    CHECK(got->not_found);
    CHECK(!fs::exists(scratch / "o"));
}

} // namespace fetch_test
