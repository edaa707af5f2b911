#include "client/cli/host_lists.hpp"
#include "fakes/run_task.hpp"
#include "unit/node/scratch.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace host_lists_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

constexpr uid_t stranger = 12345;
constexpr gid_t users = 100;

// A folder with a cluster.yaml in it, and a program beside it that leaves a mark.
struct Folder {
    Scratch scratch{};
    fs::path path = scratch.path;
    fs::path spec = path / "cluster.yaml";
    fs::path tools = path / "tools";
    fs::path program = tools / "hosts.sh";
    fs::path mark = path / "mark";
    Folder() {
        std::ofstream(spec) << "image: a\n";
        fs::create_directories(tools);
        std::ofstream(program) << "touch '" + mark.string() + "'\n";
        mode(path, 0755);
        mode(tools, 0755);
        mode(spec, 0644);
        mode(program, 0755);
    }

    static void mode(const fs::path& file, mode_t bits) { REQUIRE(::chmod(file.c_str(), bits) == 0); }
    static void give(const fs::path& file, uid_t user, gid_t group) {
        REQUIRE(::chown(file.c_str(), user, group) == 0);
    }

    Result<std::string> read(const HostSource& source) const { return read(source, *read_spec(spec)); }
    static Result<std::string> read(const HostSource& source, const SpecText& text) {
        const auto list = read_all(source, text);
        return list ? Result<std::string>(list->text) : list.error();
    }
    static Result<ListText> read_all(const HostSource& source, const SpecText& text) {
        boost::asio::io_context io;
        auto lists = run_task(io, read_host_lists(io.get_executor(), {source}, text));
        REQUIRE(lists.size() == 1);
        return lists.begin()->second;
    }
    // Why the program is not run; empty: it was.
    std::string refusal(const std::vector<std::string>& command) const {
        const auto done = read({.command = command});
        CHECK(fs::exists(mark) == done.has_value());
        fs::remove(mark);
        return done ? "" : done.error().message;
    }
};

} // namespace

TEST_CASE("a list of hosts is a file's text, or what a command prints") {
    const Folder folder;
    std::ofstream(folder.path / "hosts") << "gpu[1-2]\n";
    CHECK(*folder.read({.file = folder.path / "hosts"}) == "gpu[1-2]\n");
    CHECK(*folder.read({.command = {"echo", "a  b", "$HOME;c"}}) == "a  b $HOME;c\n"); // no shell saw that
    CHECK(*folder.read({.command = {"pwd", "-P"}}) == folder.path.string() + "\n");
    CHECK(folder.read({.file = folder.path / "no"}).error().message.ends_with(": No such file or directory"));
    CHECK(folder.read({.file = folder.path}).error().message.ends_with(": it is a folder"));
}

TEST_CASE("no list is waited for, none has no end, and none is everybody's to write") {
    const Folder folder;
    REQUIRE(::mkfifo((folder.path / "fifo").c_str(), 0600) == 0);
    CHECK(
        folder.read({.file = folder.path / "fifo"}).error().message.ends_with(": it is a pipe, not a file"));
    CHECK(folder.read({.file = "/dev/zero"}).error().message.ends_with(": it is not a regular file"));
    const auto list = folder.path / "hosts";
    std::ofstream(list) << "gpu1\n";
    Folder::mode(list, 0666);
    CHECK(folder.read({.file = list}).error().message ==
          "the list " + list.string() + " is refused: everybody may write to " + list.string());
    Folder::mode(list, 0664); // a team keeps it
    CHECK(folder.read({.file = list}).has_value());
    if (::geteuid() == 0) {
        Folder::give(list, stranger, users);
        CHECK(folder.read({.file = list}).has_value());
    }
}

TEST_CASE("an inventory of Ansible comes with the files of variables beside it") {
    const Folder folder;
    const auto put = [&](const std::string& name, const std::string& text = "x: 1\n") {
        fs::create_directories((folder.path / name).parent_path());
        std::ofstream(folder.path / name) << text;
    };
    put("inventory.ini", "gpu1\n");
    for (const auto* name : {"group_vars/all.yml", "group_vars/gpu", "group_vars/gpu~", "group_vars/.hidden",
                             "group_vars/note.txt", "group_vars/rack1/ssh.yml",
                             "group_vars/rack1/deep/er/x.yml", "host_vars/gpu1.yaml", "vars/all.yml"}) {
        put(name);
    }
    const HostSource source{.file = folder.path / "inventory.ini", .format = HostSource::Format::ansible};
    const auto list = Folder::read_all(source, *read_spec(folder.spec)).value();
    std::vector<std::string> names;
    std::ranges::transform(list.beside, std::back_inserter(names),
                           [](const auto& file) { return file.first; });
    CHECK(names == std::vector<std::string>{"group_vars/all.yml", "group_vars/gpu",
                                            "group_vars/rack1/ssh.yml", "host_vars/gpu1.yaml"});
    auto plain = source;
    plain.format = HostSource::Format::hosts;
    CHECK(Folder::read_all(plain, *read_spec(folder.spec))->beside.empty());
    Folder::mode(folder.path / "group_vars/gpu", 0666); // who could write there would name the machines
    CHECK(folder.read(source).error().message.find("group_vars/gpu is refused: everybody may write to") !=
          std::string::npos);
}

TEST_CASE("a command that fails is told with its words") {
    const Folder folder;
    const auto error = folder.read({.command = {"sh", "-c", "echo a; echo not today >&2; exit 3"}}).error();
    CHECK(error.kind == ErrorKind::config);
    CHECK(error.message.ends_with("failed with exit code 3: not today"));
    CHECK(folder.read({.command = {"/no/such/program"}}).error().message.find("/no/such/program") !=
          std::string::npos);
    CHECK(folder.read({.command = {"no-such-program"}}).error().message ==
          "`no-such-program`: there is no such program in PATH");
    CHECK(folder.read({.command = {"yes", "0123456789012345678901234567890123456789"}})
              .error()
              .message.ends_with("has more than 16.0 MiB"));
}

TEST_CASE("no command is run that anybody else could have written") {
    const Folder folder;
    const auto& [scratch, path, spec, tools, program, mark] = folder;
    const std::vector<std::string> own{program}, by_shell{"sh", "./tools/hosts.sh"};
    const auto refused = [&](const std::string& why) {
        for (const auto& command : {own, by_shell}) {
            CHECK(folder.refusal(command) == "the command is not run: " + why);
        }
    };
    CHECK(folder.refusal(own).empty());
    CHECK(folder.refusal(by_shell).empty());
    for (const auto& file : {spec, program, path, tools}) {
        Folder::mode(file, 0777);
        refused("everybody may write to " + file.string());
        Folder::mode(file, 0755);
        if (::geteuid() == 0) { // else a file cannot be another one's
            Folder::give(file, stranger, 0);
            refused(file.string() + " is user 12345's");
            Folder::give(file, 0, users);
            Folder::mode(file, 0775);
            refused("the group users may write to " + file.string());
            Folder::mode(file, 0755);
        }
    }
    Folder::mode(path, 01777); // as /tmp, where anybody's modules may lie
    refused("everybody may write to " + path.string());
    Folder::mode(path, 0755);
    CHECK(folder.refusal(own).empty());
    fs::remove(program); // and may be there again in the next moment
    Folder::mode(tools, 0777);
    CHECK(folder.refusal(by_shell) == "the command is not run: everybody may write to " + tools.string());
    CHECK(folder.refusal(own).ends_with(": there is no such program"));
}

TEST_CASE("what is judged is the file that was read") {
    const Folder folder;
    const auto text = *read_spec(folder.spec);
    fs::rename(folder.spec, folder.path / "before");
    std::ofstream(folder.spec) << "image: b\n"; // as good as the other one
    const auto done = Folder::read({.command = {folder.program}}, text);
    CHECK(done.error().message ==
          "the command is not run: " + folder.spec.string() + " has changed since it was read");
    CHECK_FALSE(fs::exists(folder.mark));
    Folder::mode(folder.path / "before", 0666); // as if it had been so when it was read
    const auto open = *read_spec(folder.path / "before");
    Folder::mode(folder.path / "before", 0644);
    CHECK_FALSE(Folder::read({.command = {folder.program}}, open).has_value());
    CHECK_FALSE(fs::exists(folder.mark));
}

} // namespace host_lists_test
