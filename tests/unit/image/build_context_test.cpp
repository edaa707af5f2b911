#include "client/image/build_context.hpp"
#include "fakes/cancellable.hpp"
#include "fakes/run_task.hpp"
#include "unit/node/scratch.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <doctest/doctest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace build_context_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

void put(const std::string& path, const std::string& content = "x") {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << content;
}

struct Entry {
    std::string name{}, content{}, target{};
    unsigned type = 0;
    unsigned mode = 0;
    std::int64_t uid = 0, gid = 0, time = 0;
};

// The tar as another program reads it.
std::vector<Entry> entries(std::span<const char> tar) {
    std::vector<Entry> all;
    auto* reader = ::archive_read_new();
    ::archive_read_support_format_tar(reader);
    REQUIRE(::archive_read_open_memory(reader, tar.data(), tar.size()) == ARCHIVE_OK);
    archive_entry* entry = nullptr;
    int code = ARCHIVE_OK;
    while ((code = ::archive_read_next_header(reader, &entry)) == ARCHIVE_OK) {
        Entry one{.name = ::archive_entry_pathname(entry),
                  .type = ::archive_entry_filetype(entry),
                  .mode = ::archive_entry_perm(entry),
                  .uid = ::archive_entry_uid(entry),
                  .gid = ::archive_entry_gid(entry),
                  .time = ::archive_entry_mtime(entry)};
        if (one.type == AE_IFLNK) {
            one.target = ::archive_entry_symlink(entry);
        }
        one.content.resize(static_cast<std::size_t>(::archive_entry_size(entry)));
        CHECK(::archive_read_data(reader, one.content.data(), one.content.size()) ==
              static_cast<la_ssize_t>(one.content.size()));
        all.push_back(std::move(one));
    }
    CHECK(code == ARCHIVE_EOF);
    ::archive_read_free(reader);
    return all;
}

std::string names(const BuildContext& context) {
    std::string text;
    for (const auto& entry : entries(context.tar())) {
        text += (text.empty() ? "" : " ") + entry.name;
    }
    return text;
}

Task<Status> as_status(Task<Result<BuildContext>> packing) {
    const auto context = co_await std::move(packing);
    co_return context ? Status(ok) : Status(context.error());
}

std::string packed_names(const std::string& folder) {
    const auto context = BuildContext::pack(folder);
    REQUIRE(context.has_value());
    return names(*context);
}

} // namespace

TEST_CASE("a folder becomes a tar: sorted, owned by root, with its modes, times and links") {
    const Scratch scratch;
    put(scratch / "t/Dockerfile", "FROM x\n");
    put(scratch / "t/src/b.py", std::string(3'000'000, 'b'));
    put(scratch / "t/src/a.sh", "");
    put(scratch / "t/ünï.txt", "u");
    fs::create_directories(scratch / "t/empty");
    const std::string long_name(180, 'n');
    put(scratch.path + "/t/" + long_name + "/" + long_name, "long");
    ::chmod((scratch / "t/src/a.sh").c_str(), 04755);
    ::chmod((scratch / "t/empty").c_str(), 01777);
    const timespec times[2]{{1'000'000'000, 5}, {1'000'000'000, 5}};
    ::utimensat(AT_FDCWD, (scratch / "t/src/a.sh").c_str(), times, 0);
    fs::create_symlink("/etc/passwd", scratch / "t/out");
    fs::create_symlink("../../up", scratch / "t/src/up");
    fs::create_directory_symlink("src", scratch / "t/zfolder");
    fs::create_hard_link(scratch / "t/Dockerfile", scratch / "t/hard");
    REQUIRE(::mkfifo((scratch / "t/pipe").c_str(), 0600) == 0);

    std::vector<PackedSize> told;
    const auto context = BuildContext::pack(scratch / "t", "Dockerfile", [&](PackedSize size) {
        told.push_back(size);
        return true;
    });
    REQUIRE(context.has_value());
    const auto all = entries(context->tar());
    CHECK(names(*context) == "Dockerfile empty/ hard " + long_name + "/ " + long_name + "/" + long_name +
                                 " out src/ src/a.sh src/b.py src/up zfolder ünï.txt");
    CHECK(all.at(0).content == "FROM x\n");
    CHECK(all.at(1).mode == 01777);
    CHECK(all.at(2).content == "FROM x\n"); // a file of its own
    CHECK(all.at(4).content == "long");
    CHECK(all.at(5).target == "/etc/passwd");
    CHECK(all.at(7).mode == 04755);
    CHECK(all.at(7).time == 1'000'000'000);
    CHECK(all.at(8).content == std::string(3'000'000, 'b'));
    CHECK(all.at(9).target == "../../up");
    CHECK(all.at(10).type == AE_IFLNK);
    for (const auto& entry : all) {
        CHECK(entry.uid == 0);
        CHECK(entry.gid == 0);
    }
    CHECK(context->size() == PackedSize{6, 3'000'000 + 7 + 7 + 4 + 1});
    REQUIRE(!told.empty());
    CHECK(told.back() == context->size());

    const auto again = BuildContext::pack(scratch / "t");
    REQUIRE(again.has_value());
    CHECK(std::string(again->tar().data(), again->tar().size()) ==
          std::string(context->tar().data(), context->tar().size()));
}

TEST_CASE("packing aside tells its progress where it was started, and ends when it is cancelled") {
    const Scratch scratch;
    put(scratch / "t/Dockerfile");
    put(scratch / "t/big", std::string(20'000'000, 'b'));
    boost::asio::io_context io;
    const auto here = std::this_thread::get_id();
    std::vector<PackedSize> told;
    const auto note = [&](PackedSize size) {
        CHECK(std::this_thread::get_id() == here);
        told.push_back(size);
    };
    const auto context = run_task(io, BuildContext::pack_aside(scratch / "t", "Dockerfile", note));
    REQUIRE(context.has_value());
    CHECK(names(*context) == "Dockerfile big");
    CHECK(told.size() == 3);
    CHECK(told.back() == context->size());
    const auto none = run_task(io, BuildContext::pack_aside(scratch / "t", "none", {}));
    CHECK(none.error().message == "there is no Dockerfile of that name");

    told.clear();
    Cancellable packing(io, as_status(BuildContext::pack_aside(scratch / "t", "Dockerfile", note)));
    packing.cancel();
    packing.wait();
    CHECK(packing.ended_by_cancellation());
    io.restart();
    io.poll(); // what the thread has posted finds nobody
    CHECK(told.empty());

    const auto ended = BuildContext::pack(scratch / "t", "Dockerfile", [](PackedSize) { return false; });
    CHECK(ended.error().kind == ErrorKind::interrupted);
}

TEST_CASE("what was sent may leave the memory, and is there all the same") {
    const Scratch scratch;
    put(scratch / "t/Dockerfile");
    put(scratch / "t/big", std::string(5'000'000, 'b'));
    auto packed = BuildContext::pack(scratch / "t");
    REQUIRE(packed.has_value());
    auto context = std::move(*packed);
    const std::string before(context.tar().data(), context.tar().size());
    context.let_go(4'000'000);
    context.let_go(1);
    context.let_go(100'000'000);
    CHECK(std::string(context.tar().data(), context.tar().size()) == before);
}

TEST_CASE(".dockerignore leaves out, and its exceptions come with the folders above them") {
    const Scratch scratch;
    put(scratch / "t/Dockerfile");
    put(scratch / "t/data/deep/keep.txt");
    put(scratch / "t/data/deep/other.txt");
    put(scratch / "t/data/big.bin");
    put(scratch / "t/never/x");
    put(scratch / "t/src/a.py");
    put(scratch / "t/src/a.pyc");
    fs::create_symlink("a.py", scratch / "t/src/link.pyc");
    put(scratch / "t/.dockerignore", "data\nnever\n**/*.pyc\n!data/deep/keep.txt\n");
    CHECK(packed_names(scratch / "t") ==
          ".dockerignore Dockerfile data/ data/deep/ data/deep/keep.txt src/ src/a.py");
    if (::geteuid() != 0) {
        ::chmod((scratch / "t/never").c_str(), 0); // nobody looks into it
        CHECK(packed_names(scratch / "t").find("never") == std::string::npos);
        ::chmod((scratch / "t/never").c_str(), 0700);
    }
    put(scratch / "t/.dockerignore", "**\n");
    CHECK(packed_names(scratch / "t") == ".dockerignore Dockerfile");
}

TEST_CASE("a Dockerfile of another name is sent with its folder") {
    const Scratch scratch;
    put(scratch / "t/docker/gpu.Dockerfile");
    put(scratch / "t/docker/cpu.Dockerfile");
    put(scratch / "t/.dockerignore", "*");
    const auto context = BuildContext::pack(scratch / "t", "./docker//gpu.Dockerfile");
    REQUIRE(context.has_value());
    CHECK(context->dockerfile() == "docker/gpu.Dockerfile");
    CHECK(names(*context) == ".dockerignore docker/ docker/gpu.Dockerfile");
}

TEST_CASE("a Dockerfile's own .dockerignore counts instead of the common one, which stays behind") {
    const Scratch scratch;
    put(scratch / "t/docker/train");
    put(scratch / "t/docker/train.dockerignore", "*.log\ndocker\n");
    put(scratch / "t/.dockerignore", "*");
    put(scratch / "t/a");
    put(scratch / "t/b.log");
    const auto context = BuildContext::pack(scratch / "t", "docker/train");
    REQUIRE(context.has_value());
    CHECK(names(*context) == "a docker/ docker/train");
    const auto other = BuildContext::pack(scratch / "t", "docker/train.dockerignore");
    REQUIRE(other.has_value());
    CHECK(names(*other) == ".dockerignore docker/ docker/train.dockerignore");
    put(scratch / "t/docker/train.dockerignore", "[");
    CHECK(BuildContext::pack(scratch / "t", "docker/train").error().where ==
          scratch / "t/docker/train.dockerignore:1");
}

TEST_CASE("files beside are for their owner alone, and count for nothing") {
    const Scratch scratch;
    put(scratch / "t/Dockerfile");
    const auto context = BuildContext::pack(scratch / "t", "Dockerfile", {}, {{".secret", "hunter2"}});
    REQUIRE(context.has_value());
    CHECK(names(*context) == "Dockerfile .secret");
    const auto all = entries(context->tar());
    CHECK(all.back().content == "hunter2");
    CHECK((all.back().mode & 07777U) == 0600);
    CHECK(context->size().files == 1);
}

TEST_CASE("what cannot be built from says what was looked for") {
    const Scratch scratch;
    const auto error_of = [&](const std::string& folder, const char* dockerfile = "Dockerfile") {
        const auto context = BuildContext::pack(folder, dockerfile);
        REQUIRE(context.has_error());
        CHECK(!context.error().hint.empty());
        CHECK(context.error().kind == ErrorKind::config);
        return context.error().where + ": " + context.error().message;
    };
    CHECK(error_of(scratch / "none") == scratch / "none: there is no such folder to build from");
    put(scratch / "file");
    CHECK(error_of(scratch / "file") == scratch / "file: is not a folder to build from");
    fs::create_directories(scratch / "t/Folder");
    CHECK(error_of(scratch / "t") == scratch / "t/Dockerfile: there is no Dockerfile of that name");
    CHECK(error_of(scratch / "t", "Folder") == scratch / "t/Folder: is not a file that can be read");
    for (const auto* name : {"", ".", "..", "../file", "/etc/passwd", "a/../../file", "Folder/"}) {
        CAPTURE(name);
        CHECK(error_of(scratch / "t", name).ends_with("' is not a name below that folder"));
    }
    fs::create_symlink("../file", scratch / "t/Dockerfile");
    CHECK(error_of(scratch / "t") ==
          scratch / "t/Dockerfile: is a link out of the folder, where the engine cannot follow it");
    fs::remove(scratch / "t/Dockerfile");
    put(scratch / "t/Dockerfile");
    put(scratch / "t/.dockerignore", "a\n[\n");
    CHECK(error_of(scratch / "t") == scratch / "t/.dockerignore:2: '[' is not a pattern");
    fs::remove(scratch / "t/.dockerignore");
    if (::geteuid() != 0) {
        put(scratch / "t/secret");
        ::chmod((scratch / "t/secret").c_str(), 0);
        CHECK(error_of(scratch / "t") == scratch / "t/secret: cannot be read: Permission denied");
    }
}

TEST_CASE("a tar that cannot be written to its end is told with what to do") {
    const Scratch scratch;
    put(scratch / "t/Dockerfile", std::string(5'000'000, 'x'));
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const rlimit small{2'000'000, before.rlim_max};
    auto* handler = std::signal(SIGXFSZ, SIG_IGN);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    const auto context = BuildContext::pack(scratch / "t");
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    REQUIRE(context.has_error());
    CHECK(context.error().kind == ErrorKind::internal);
    CHECK(context.error().message == "cannot keep the build's files: File too large");
    CHECK(context.error().hint.find("set TMPDIR") != std::string::npos);
}

TEST_CASE("without a place for the tar it is told with what to do") {
    const Scratch scratch;
    put(scratch / "t/Dockerfile");
    const char* before = std::getenv("TMPDIR");
    const std::string kept = before == nullptr ? "" : before;
    ::setenv("TMPDIR", (scratch / "nowhere").c_str(), 1);
    const auto context = BuildContext::pack(scratch / "t");
    if (before == nullptr) {
        ::unsetenv("TMPDIR");
    } else {
        ::setenv("TMPDIR", kept.c_str(), 1);
    }
    REQUIRE(context.has_error());
    CHECK(context.error().kind == ErrorKind::internal);
    CHECK(context.error().message == "cannot be used: No such file or directory");
    CHECK(context.error().hint == "set TMPDIR to a folder with room for the image");
}

} // namespace build_context_test
