#include "node/job/failure_cause.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace failure_cause_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

struct Folder {
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "dockdist-cause-XXXXXX";
        path = ::mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string path{};
};

} // namespace

TEST_CASE("the port that last lines complain of") {
    const std::vector<std::pair<std::string, std::optional<int>>> said{
        {"RuntimeError: The server socket has failed to listen on any local network address. port: 29500, "
         "useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use",
         29500},
        {"ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already "
         "in use",
         8000},
        {"nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)", 80},
        {"listen tcp [::]:6379: bind: address already in use", 6379},
        {"epoch 1\nOSError: [Errno 98] Address already in use\nbye", 0},
        {"Error: listen EADDRINUSE: address already in use :::3000", 3000},
        {"[W1122 23:07:03.624361628 socket.cpp:520] [c10d] The server socket has failed to bind to "
         "[::]:29777 (errno: "
         "98 - Address already in use).",
         29777},
        {"23:07:03 ERROR Address already in use", 0},
        {"ValueError: no such port: 29500", std::nullopt},
        {"", std::nullopt}};
    for (const auto& [tail, port] : said) {
        CAPTURE(tail);
        CHECK(complained_port(tail) == port);
    }
}

TEST_CASE("a command whose script is not there is hopeless, and no other one is") {
    const Folder folder;
    std::ofstream(folder.path + "/there.py") << "pass";
    Environment environment;
    environment.set("PATH", "/usr/bin:/bin");
    const auto code = [&](std::vector<std::string> command) {
        const auto found = find_hopeless(command, folder.path, environment);
        return found ? found->code : 0;
    };
    CHECK(code({"python3", "-u", "train.py", "--epochs", "3"}) == 2);
    CHECK(code({"/opt/conda/bin/python", "sub/train.py"}) == 2);
    CHECK(code({"bash", "launch.sh"}) == 127);
    CHECK(code({"bash", "-ex", "./launch.sh"}) == 127);
    CHECK(code({"python3", "-u", "there.py"}) == 0);
    CHECK(code({"python3", folder.path + "/there.py"}) == 0);
    CHECK(code({"python3", folder.path}) == 0); // a folder with __main__.py, or Python says what is wrong
    CHECK(code({"python3", "-m", "train.py"}) == 0);
    CHECK(code({"python3", "-c", "train.py"}) == 0);
    CHECK(code({"python3", "-W", "ignore", "there.py"}) == 0);
    CHECK(code({"python3", "--version"}) == 0);
    CHECK(code({"bash", "-c", "launch.sh"}) == 0);
    CHECK(code({"bash", "-o", "pipefail", "there.py"}) == 0);
    CHECK(code({"sh", "ls"}) == 0); // found in PATH
    CHECK(code({"torchrun", "train.py"}) == 0);
    CHECK(code({"python3"}) == 0);
    CHECK(code({}) == 0);
    const auto found = find_hopeless({"python3", "./train.py"}, folder.path, environment);
    REQUIRE(found.has_value());
    CHECK(found->cause.cause == "there is no " + folder.path + "/train.py on this node");
    CHECK(found->cause.advice ==
          "`sync: [\".:" + folder.path + "\"]` in the file brings it there; --workdir names another folder");
}

TEST_CASE("a failure is explained by the script that is not there, or by whoever listens on its port") {
    const Folder folder;
    PreparedJob job;
    job.summary.job = "job-1";
    job.part.workdir = folder.path;
    job.summary.argv = {"torchrun", "--nproc_per_node", "2", "train.py"};
    wire::JobFailure failure{.code = 1};
    explain(failure, job);
    CHECK(failure.cause == "there is no " + folder.path + "/train.py on this node");

    std::ofstream(folder.path + "/train.py") << "pass";
    failure = {.code = 1};
    explain(failure, job);
    CHECK(failure.cause.empty());

    failure = {.code = 1, .tail = "address already in use, port: 1\n"}; // nobody listens there
    explain(failure, job);
    CHECK(failure.cause == "the port 1 that it wants is taken");
    CHECK(failure.advice == "on the host, `ss -ltnp sport = :1` tells who holds it");
}

} // namespace failure_cause_test
