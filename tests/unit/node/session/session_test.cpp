#include "node/session/session.hpp"

#include <doctest/doctest.h>

namespace session_test {

using namespace dockdist;
using namespace dockdist::node;
using namespace std::string_literals;

namespace {

const Account alice{.name = "alice", .uid = 1000, .gid = 1000, .home = "/home/alice", .shell = "/bin/bash"};
const Account root{.name = "root", .home = "/root", .shell = "/bin/bash"};

const std::string sshd_block =
    "USER=alice\0PATH=/usr/bin\0SHLVL=2\0SSH_CLIENT=10.0.0.1 5 22\0SSH_CONNECTION=c\0"
    "SSH_TTY=/dev/pts/0\0TERM=xterm\0SSH_ORIGINAL_COMMAND=ls\0"s;

} // namespace

TEST_CASE("a session's environment is the container's, not sshd's") {
    const auto container = Environment::from_block("PATH=/opt/conda/bin\0NCCL_DEBUG=INFO\0Q=a \"b\"\nc\0"s);
    const auto session = session_environment(container, Environment::from_block(sshd_block), alice);
    CHECK(session.get("PATH") == "/opt/conda/bin");
    CHECK(session.get("NCCL_DEBUG") == "INFO");
    CHECK(session.get("Q") == "a \"b\"\nc");
    CHECK_FALSE(session.get("SHLVL").has_value());
    CHECK_FALSE(session.get("SSH_ORIGINAL_COMMAND").has_value());
}

TEST_CASE("what only sshd knows is kept") {
    const auto session = session_environment({}, Environment::from_block(sshd_block), alice);
    CHECK(session.get("SSH_CLIENT") == "10.0.0.1 5 22");
    CHECK(session.get("TERM") == "xterm");
    CHECK(session.get("USER") == "alice");
    CHECK(session.get("HOME") == "/home/alice");
}

TEST_CASE("the container's HOME stays, the engine's does not") {
    const auto home = [](const char* entry, const Account& account) {
        auto environment = Environment::from_block(entry);
        apply_account(environment, account);
        return *environment.get("HOME");
    };
    CHECK(home("HOME=/data/home", alice) == "/data/home");
    CHECK(home("HOME=/root", alice) == "/home/alice");
    CHECK(home("HOME=/", root) == "/root");
    CHECK(home("HOME=/root", root) == "/root");
    CHECK(home("", alice) == "/home/alice");
}

TEST_CASE("a job's mark and variables arrive in its sessions") {
    const auto from_sshd = Environment::from_block("DOCKDIST_JOB=j-1\0DOCKDIST_JOB_ENV=WANDB=a%20b -GONE\0"s);
    const auto session = session_environment(Environment::from_block("GONE=1\0"s), from_sshd, root);
    CHECK(session.get("DOCKDIST_JOB") == "j-1");
    CHECK(session.get("WANDB") == "a b");
    CHECK_FALSE(session.get("GONE").has_value());
}

TEST_CASE("a node that has a part of the job gives its own variables, not those that were sent along") {
    const auto from_sshd = Environment::from_block("DOCKDIST_JOB=j\0DOCKDIST_JOB_ENV=NODE_RANK=0 SENT=1\0"s);
    const JobPart part{.job = "j", .env = {{"NODE_RANK", "1"}, {"TOKEN", "x y"}}, .unset = {"GONE"}};
    const auto session = session_environment(Environment::from_block("GONE=1\0"s), from_sshd, root, part);
    CHECK(session.get("DOCKDIST_JOB") == "j");
    CHECK(session.get("NODE_RANK") == "1");
    CHECK(session.get("TOKEN") == "x y");
    CHECK(session.get("DOCKDIST_JOB_ENV") == "NODE_RANK=1 TOKEN=x%20y -GONE");
    CHECK_FALSE(session.get("SENT").has_value());
    CHECK_FALSE(session.get("GONE").has_value());
}

TEST_CASE("variables without a job, or with one that is none, change nothing") {
    CHECK_FALSE(session_environment({}, Environment::from_block("DOCKDIST_JOB_ENV=A=1\0"s), root)
                    .get("A")
                    .has_value());
    const auto bad = Environment::from_block("DOCKDIST_JOB=../x\0DOCKDIST_JOB_ENV=A=1\0"s);
    CHECK_FALSE(session_environment({}, bad, root).get("DOCKDIST_JOB").has_value());
}

TEST_CASE("bash runs a command as docker exec would, without ~/.bashrc") {
    CHECK(shell_argv("/bin/bash", "ls -l", false) ==
          std::vector<std::string>{"bash", "--norc", "-c", "ls -l"});
    CHECK(shell_argv("/bin/sh", "ls", false) == std::vector<std::string>{"sh", "-c", "ls"});
    CHECK(shell_argv("/bin/tcsh", "ls", false) == std::vector<std::string>{"tcsh", "-f", "-c", "ls"});
}

TEST_CASE("what a shell prints before the command goes where its errors go") {
    CHECK(shell_argv("/bin/sh", "rsync --server", true) ==
          std::vector<std::string>{"sh", "-c", "exec 1>&9 9>&-; rsync --server"});
    CHECK(can_keep_output("/usr/bin/zsh"));
    CHECK_FALSE(can_keep_output("/usr/bin/fish"));
    CHECK_FALSE(can_keep_output("/bin/tcsh"));
}

TEST_CASE("an interactive shell is no login shell, which would reset PATH") {
    CHECK(shell_argv("/bin/bash", "", false) == std::vector<std::string>{"bash"});
}

TEST_CASE("words are split as a shell splits them") {
    using Words = std::vector<std::string>;
    CHECK(*split_words("  a  b\tc ") == Words{"a", "b", "c"});
    CHECK(*split_words(R"(a 'b  c' "d \"e\" \x" f\ g '')") == Words{"a", "b  c", "d \"e\" \\x", "f g", ""});
    CHECK(split_words("")->empty());
}

TEST_CASE("what needs a real shell is not guessed at") {
    for (const auto* command :
         {"a | b", "echo $HOME", "a; b", "ls *", "a > b", "'open", "\"open", "\"$x\"", "a\\", "`x`", "~/x"}) {
        CAPTURE(command);
        CHECK_FALSE(split_words(command).has_value());
    }
}

} // namespace session_test
