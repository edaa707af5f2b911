// ContainerEngine over the Docker Engine API.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/engine/node_program.hpp"
#include "client/engine/transport/ssh/settings.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dockdist {

struct EngineLimits {
    std::chrono::milliseconds connect{5'000};
    std::chrono::milliseconds call{30'000};         // one request, from sending it to the end of its answer
    std::chrono::milliseconds pull_silence{60'000}; // between two messages of a pull
    // Without a word of a build, a pull or a load, after which the engine is asked for a sign of life.
    std::chrono::milliseconds build_silence{30'000};
};

struct EngineEndpoint {
    HostName host{};
    EngineAddress address{};
    std::optional<TlsFiles> tls{};
    bool insecure = false; // allows plain TCP beyond loopback, where whoever connects is root
    EngineLimits limits{};
    std::optional<SshSettings> ssh{}; // for an ssh address; empty: asked for when it is connected
    NodeProgram node_program{};       // for an srun address
};

// Does not connect. What is wrong with the endpoint itself (plain TCP beyond loopback, files of TLS that
// cannot be read) is told by the first call, so that every host's errors come together. Destroying the engine
// ends its calls and its kept connection; streams that were opened live on.
std::unique_ptr<ContainerEngine> make_docker_engine(const boost::asio::any_io_executor& executor,
                                                    EngineEndpoint endpoint);

// `hold` is called with true before a question is asked on the terminal (the passphrase of a key), and with
// false after it: whoever draws there keeps still meanwhile. Empty: nothing is asked, as where there is no
// terminal.
void on_terminal_questions(const boost::asio::any_io_executor& executor, std::function<void(bool)> hold);

// ssh comes with its questions by a program, which is this one: what it does then, and its exit code. Empty:
// this process is called by its own name.
std::optional<int> answer_for_ssh(int argc, char** argv);

} // namespace dockdist
