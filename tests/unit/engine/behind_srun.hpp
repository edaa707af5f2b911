// An engine behind an srun that runs its steps here: it takes what the real one is given, and drops what only
// that one understands. tests/integration/slurm has the real one.
#pragma once

#include "client/engine/docker_engine.hpp"
#include "echo_engine.hpp"
#include "fakes/local_front.hpp"
#include "fakes/run_task.hpp"
#include "fakes/show.hpp"
#include "fakes/tls_front.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace dockdist {

struct BehindSrun {
    BehindSrun() {
        ::setenv("SLURM_JOB_ID", "7", 1);
        ::setenv("PATH", (folder.file("") + ":" + path).c_str(), 1);
        // Its own pid, its words, and then the step: "sh -c SCRIPT …" behind the options.
        srun(R"(echo "$$" >>"FOLDER/pids"; echo "$*" >>"FOLDER/words"; while [ "$1" != sh ]; do shift; done
exec "$@")");
    }
    ~BehindSrun() {
        ::unsetenv("SLURM_JOB_ID");
        ::setenv("PATH", path.c_str(), 1);
    }
    BehindSrun(const BehindSrun&) = delete;
    BehindSrun& operator=(const BehindSrun&) = delete;

    // What srun is from now on.
    void srun(std::string script) const {
        for (auto at = script.find("FOLDER"); at != std::string::npos; at = script.find("FOLDER")) {
            script.replace(at, 6, folder.file("").substr(0, folder.file("").size() - 1));
        }
        std::filesystem::remove(folder.file("srun"));
        std::ofstream(folder.file("srun")) << "#!/bin/sh\n" << script << "\n";
        std::filesystem::permissions(folder.file("srun"), std::filesystem::perms::owner_all);
    }
    std::unique_ptr<ContainerEngine> engine(const std::string& url) {
        return make_docker_engine(
            io.get_executor(),
            {.host = HostName("a"),
             .address = parse_engine_address(url).value(),
             .node_program =
                 [this](const std::string& machine) -> Result<std::shared_ptr<const std::string>> {
                 machines.push_back(machine);
                 static const auto program = std::make_shared<const std::string>(read(TUNNEL_END)); // large
                 return program;
             }});
    }
    std::unique_ptr<ContainerEngine> engine() { return engine("srun://n1" + folder.file("docker.sock")); }
    Error refusal(const std::string& url) {
        const auto result = run_task(io, engine(url)->ping());
        REQUIRE_FALSE(result);
        CHECK(result.error().where == "a");
        return result.error();
    }
    static std::string read(const std::string& file) {
        std::string bytes(std::filesystem::file_size(file),
                          '\0'); // at once: a large one, under the sanitizers
        std::ifstream(file, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return bytes;
    }
    std::vector<pid_t> steps() const {
        std::ifstream in(folder.file("pids"));
        return {std::istream_iterator<pid_t>(in), {}};
    }

    std::string path = std::getenv("PATH");
    TemporaryFolder folder{};
    std::vector<std::string> machines{}; // for which a program was asked for
    boost::asio::io_context io{};
    StubServer server{io, echo_engine};
    LocalFront front{io, folder.file("docker.sock"), server.address()};
};

} // namespace dockdist
