// A node that does not keep to the protocol, or wants to write elsewhere.
#include "client/sync/fetch.hpp"
#include "client/sync/received_names.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "fakes/run_task.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sys/stat.h>

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

SyncMessage file(std::string name, std::uint64_t size = 1, std::uint32_t mode = 0644) {
    return {.kind = Kind::file,
            .type = TreeEntry::Type::file,
            .mode = mode,
            .size = size,
            .name = std::move(name)};
}
SyncMessage data(std::string text) {
    return {.kind = Kind::data, .text = std::move(text)};
}

Result<Fetched> fetched(const std::string& said, const FetchPlace& into) {
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

// Under that name, as `cp` asks for it.
Result<Fetched> fetched(const std::string& said, const std::string& into) {
    const fs::path path(into);
    return fetched(said, FetchPlace{.root = path.parent_path().string(), .name = path.filename().string()});
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
                                      file("d/f", 3),
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
        const auto got =
            fetched(encoded({a_folder, file(name, 3), data("bad"), whole, done}), scratch / "out");
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

TEST_CASE(
    "a name that comes twice ends it: a link first, and then a folder of that name that leads through it") {
    const auto link = [](std::string name) {
        return SyncMessage{.kind = Kind::link, .name = std::move(name), .text = "victim"};
    };
    const SyncMessage a_file{.kind = Kind::entry, .type = TreeEntry::Type::file};
    const std::vector<std::vector<SyncMessage>> lies = {
        // The single file's name is chosen here; the link took it, and the second beginning opened the link.
        {a_file, link("out"), a_folder, file("pwn", 1, 0755), data("x"), whole, done},
        {a_folder, link("out"), a_folder, file("out/pwn"), data("x"), whole, done},
        {a_folder, link("out"), {.kind = Kind::folder, .mode = 0755, .name = "out"}, done},
        {a_folder, link("out"), file("out"), data("x"), whole, done},
        {a_folder, file("out"), data("x"), whole, link("out"), done},
        {a_file, file("out"), data("x"), whole, file("out"), data("y"), whole, done},
        {a_folder, file("b"), data("x"), whole, file("a"), data("x"), whole, done},
        {a_folder, file(".dockdist-sync-1-1"), data("x"), whole, done}};
    for (std::size_t i = 0; i < lies.size(); ++i) {
        INFO(i);
        const Scratch scratch;
        fs::create_directory(scratch / "victim");
        const auto got = fetched(encoded(lies[i]), scratch / "out");
        REQUIRE(got.has_error());
        CHECK(got.error().kind == ErrorKind::protocol);
        CHECK(got.error().where == "node-0");
        CHECK(fs::is_empty(scratch / "victim"));
        CHECK(!fs::is_symlink(scratch / "out"));
    }
}

TEST_CASE("links that stood here before are not followed below what the user has named") {
    const Scratch victim;
    const Scratch scratch;
    fs::create_directory_symlink(victim.path, scratch / "out");
    fs::create_directories(scratch / "job/node-0");
    fs::create_directory_symlink(victim.path, scratch / "job/node-0/results");
    const auto tree = encoded({a_folder, file("f"), data("x"), whole, done});
    CHECK(fetched(tree, scratch / "out").has_error());
    CHECK(fetched(tree, {.root = scratch.path, .name = "job/node-0/results"}).has_error());
    CHECK(fetched(tree, {.root = scratch.path, .name = "job/node-0/results/deeper"}).has_error());
    CHECK(fetched(tree, {.root = scratch.path, .name = "job/../../out"}).has_error());
    CHECK(fs::is_empty(victim.path));
    // The root itself is the user's word.
    CHECK(fetched(tree, {.root = scratch / "out", .name = ""}).has_value());
    CHECK(content(victim / "f") == "x");
}

TEST_CASE("one file replaces a link or a hard link, never what they lead to, and no pipe or folder") {
    const Scratch scratch;
    std::ofstream(scratch / "victim") << "safe";
    fs::create_symlink("victim", scratch / "link");
    fs::create_hard_link(scratch / "victim", scratch / "hard");
    REQUIRE(::mkfifo((scratch / "pipe").c_str(), 0600) == 0);
    fs::create_directory(scratch / "folder");
    const auto one =
        encoded({{.kind = Kind::entry, .type = TreeEntry::Type::file}, file("f"), data("x"), whole, done});
    for (const auto* name : {"link", "hard"}) {
        const auto got = fetched(one, scratch / name);
        REQUIRE(got.has_value());
        CHECK(got->errors.empty());
        CHECK(fs::symlink_status(scratch / name).type() == fs::file_type::regular);
        CHECK(content(scratch / name) == "x");
    }
    CHECK(content(scratch / "victim") == "safe");
    for (const auto* name : {"pipe", "folder"}) {
        const auto got = fetched(one, scratch / name);
        REQUIRE(got.has_value());
        CHECK(got->errors.size() == 1);
    }
    CHECK(fs::symlink_status(scratch / "pipe").type() == fs::file_type::fifo);
    CHECK(fetched(one, {.root = scratch / "folder", .name = ""}).has_error());
    CHECK(fs::is_empty(scratch / "folder"));
}

TEST_CASE("modes are for what has come, without what this process's umask takes") {
    const Scratch scratch;
    fs::create_directories(scratch / "out/private");
    fs::permissions(scratch / "out/private", fs::perms(0700));
    std::ofstream(scratch / "out/own") << "x";
    fs::permissions(scratch / "out/own", fs::perms(0600));
    const auto before = ::umask(022);
    const SyncMessage folder{.kind = Kind::folder, .mode = 0777, .name = "new"};
    const auto got = fetched(encoded({a_folder,
                                      file("all", 1, 0777),
                                      data("x"),
                                      whole,
                                      folder,
                                      {.kind = Kind::mode, .mode = 0777, .name = "new"},
                                      {.kind = Kind::folder, .mode = 0777, .name = "private"},
                                      {.kind = Kind::mode, .mode = 0777, .name = "private"},
                                      done}),
                             scratch / "out");
    const auto other = fetched(encoded({a_folder, {.kind = Kind::mode, .mode = 0777, .name = "own"}, done}),
                               scratch / "out");
    ::umask(before);
    REQUIRE(got.has_value());
    CHECK(got->errors.empty());
    const auto mode = [&](const char* name) {
        return static_cast<unsigned>(fs::status(scratch / name).permissions());
    };
    CHECK(mode("out/all") == 0755);
    CHECK(mode("out/new") == 0755);
    CHECK(mode("out/private") == 0700);
    CHECK(other.has_error());
    CHECK(mode("out/own") == 0600);
}

TEST_CASE("set-user-id bits are refused, content beyond what was announced too, and words are counted") {
    const Scratch scratch;
    CHECK(
        fetched(encoded({a_folder, file("f", 1, 04755), data("x"), whole, done}), scratch / "o").has_error());
    CHECK(fetched(encoded({a_folder, file("f"), data("xy"), whole, done}), scratch / "o").has_error());
    CHECK(fetched(encoded({a_folder, file("f", 2), data("x"), whole, done}), scratch / "o").has_error());
    CHECK(fetched(encoded({a_folder, data("x"), done}), scratch / "o").has_error());
    CHECK(!fs::exists(scratch / "o/f"));
    std::vector<SyncMessage> many{a_folder};
    for (int i = 0; i < 1500; ++i) {
        many.push_back({.kind = Kind::warning, .name = "p", .text = "is a pipe"});
        many.push_back({.kind = Kind::problem, .name = "q", .text = "cannot be read"});
    }
    many.push_back(done);
    const auto got = fetched(encoded(many), scratch / "o");
    REQUIRE(got.has_value());
    CHECK(got->left_out.size() == 1001);
    CHECK(got->left_out.back() == "and 500 more, left out");
    CHECK(got->errors.size() == 1001);
}

TEST_CASE("a file that does not fit ends it before anything is written") {
    const Scratch scratch;
    const auto got =
        fetched(encoded({a_folder, file("big", std::uint64_t{1} << 60U), data("x"), done}), scratch / "o");
    REQUIRE(got.has_error());
    CHECK(got.error().where == "node-0");
    CHECK(got.error().message.starts_with("big has 1024.0 PiB, and "));
    CHECK(fs::is_empty(scratch / "o"));
}

TEST_CASE("names have an end, and so has their number") {
    const Scratch scratch;
    std::string deep = "d";
    while (deep.size() < 5000) {
        deep += "/d";
    }
    CHECK(fetched(encoded({a_folder, file(deep), done}), scratch / "o").error().where == "node-0");
    ReceivedNames names(2);
    CHECK(names.take("a").has_value());
    CHECK(names.take_folder("b").has_value());
    CHECK(names.take("b/c").error().message ==
          "`b/c` is one name too many: no such number of files is taken");
}

} // namespace fetch_test
