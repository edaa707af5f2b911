// An engine behind a real sshd.
#pragma once

#include "client/engine/docker_engine.hpp"
#include "echo_engine.hpp"
#include "fakes/run_task.hpp"
#include "fakes/show.hpp"
#include "fakes/ssh_front.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

namespace dockdist {

// `docker -H unix://PATH …`, as far as ssh:// needs it; what it was called with stands in the file
// docker.calls beside it.
inline constexpr const char* docker_program = R"(#!/usr/bin/python3
import os, socket, sys, threading
with open(sys.argv[0] + ".calls", "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\n")
if "version" in sys.argv:
    print("answers 1.0")
    sys.exit()
engine = socket.socket(socket.AF_UNIX)
engine.connect(sys.argv[2].removeprefix("unix://"))
def up():
    while part := os.read(0, 65536):
        engine.sendall(part)
    engine.shutdown(socket.SHUT_WR)
threading.Thread(target=up, daemon=True).start()
while part := engine.recv(65536):
    while part:
        part = part[os.write(1, part):]
)";

struct BehindSsh {
    // `config` as SshFront takes it; FOLDER in it stands for this folder.
    explicit BehindSsh(const std::string& config = "")
        : front(io, folder, server.address(), with_folder(config)) {}
    std::string with_folder(const std::string& text) const {
        return std::regex_replace(text, std::regex("FOLDER/"), folder.file(""));
    }

    std::unique_ptr<ContainerEngine> engine(const SshSettings& settings) {
        return make_docker_engine(io.get_executor(),
                                  {.host = HostName("a"), .address = front.address(), .ssh = settings});
    }
    std::unique_ptr<ContainerEngine> engine() { return engine(front.settings()); }

    Error refusal(const SshSettings& settings) {
        const auto result = run_task(io, engine(settings)->ping());
        REQUIRE_FALSE(result);
        CHECK(result.error().where == "a");
        CHECK(server.connections() == 0);
        return result.error();
    }

    TemporaryFolder folder{};
    boost::asio::io_context io{};
    StubServer server{io, echo_engine};
    SshFront front;
};

// The same, and a user whose ssh has a configuration of its own; nobody can be asked for anything. `docker`
// on the host is a program that leads to the front's socket.
struct BehindUserSsh : BehindSsh {
    explicit BehindUserSsh(const std::string& config = "")
        : BehindSsh("SetEnv PATH=FOLDER/bin:/usr/bin:/bin\n" + config), path_before_(std::getenv("PATH")) {
        on_terminal_questions(io.get_executor(), {});
        std::filesystem::create_directory(folder.file("bin"));
        program("ssh", "#!/bin/sh\nexec /usr/bin/ssh -F " + folder.file("ssh_config") + " \"$@\"\n");
        program("docker", docker_program);
        ::setenv("PATH", (folder.file("bin") + ":" + path_before_).c_str(), 1);
        configure("");
    }
    ~BehindUserSsh() { ::setenv("PATH", path_before_.c_str(), 1); }
    BehindUserSsh(const BehindUserSsh&) = delete;
    BehindUserSsh& operator=(const BehindUserSsh&) = delete;

    void program(const std::string& name, const std::string& text) const {
        const auto path = folder.file("bin/" + name);
        std::ofstream(path) << text;
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    // `lines` come first, and the first value counts. FOLDER as above.
    void configure(const std::string& lines) const {
        std::ofstream(folder.file("ssh_config"))
            << with_folder(lines) << "\nIdentityFile " << folder.file("id")
            << "\nIdentityAgent none\nUserKnownHostsFile " << front.known_hosts()
            << "\nGlobalKnownHostsFile none\n";
    }
    // As a command reaches it: by what ssh says of the host.
    std::unique_ptr<ContainerEngine> client() {
        return make_docker_engine(io.get_executor(), {.host = HostName("a"), .address = front.address()});
    }
    Error refusal() { return run_task(io, client()->ping()).error(); }
    std::string docker_calls() const {
        std::ifstream file(folder.file("bin/docker.calls"));
        return {std::istreambuf_iterator<char>(file), {}};
    }

private:
    std::string path_before_;
};

inline bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace dockdist
