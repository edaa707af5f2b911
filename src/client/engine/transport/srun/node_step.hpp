// One step on a node and the tunnel over it.
#pragma once

#include "client/engine/transport/byte_stream.hpp"
#include "client/engine/transport/srun/step_commands.hpp"
#include "client/engine/transport/transport.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace dockdist {

// Streams keep their step: it ends with the last one of them and of those who hold it.
class NodeStep {
public:
    using Handle = std::shared_ptr<NodeStep>;

    // Starts it, sends dockdist-init for `machine` (`uname -m`), and waits for its first word. Where the node
    // turns out to be another machine, it is started once more, and `machine` is that. Errors: unreachable,
    // timeout; config where the allocation has ended; not_found where there is no srun; those of `program`.
    static Task<Result<Handle>> start(boost::asio::any_io_executor executor, SlurmPlace place,
                                      NodeProgram program, std::string& machine, wire::TunnelAsk ask,
                                      std::chrono::milliseconds limit);
    ~NodeStep();
    NodeStep(const NodeStep&) = delete;
    NodeStep& operator=(const NodeStep&) = delete;

    // Why it is of no use any more.
    const std::optional<Error>& over() const;

    struct Opened { // one of them
        std::unique_ptr<ByteStream> stream{};
        std::optional<wire::TunnelFailure> refusal{};
    };
    // Errors: over().
    static Task<Result<Opened>> open(Handle step, std::string path);

private:
    struct State;
    explicit NodeStep(std::shared_ptr<State> state) : state_(std::move(state)) {}
    static Task<Result<Handle>> try_start(boost::asio::any_io_executor executor, SlurmPlace place,
                                          std::shared_ptr<const std::string> program, std::string machine,
                                          std::string& other, wire::TunnelAsk ask,
                                          std::chrono::milliseconds limit);
    static Task<Status> begin(std::shared_ptr<State> state, std::shared_ptr<const std::string> program);
    static Task<void> run(std::shared_ptr<State> state);

    std::shared_ptr<State> state_;
};

} // namespace dockdist
