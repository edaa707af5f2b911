// A command that an engine was asked to start, and that is asked for again where the host's runtime died
// before it began. On a host that is short of memory or processes for a moment, runc is killed or gives up
// while it prepares the command: the engine tells that in place of the command's output ("OCI runtime exec
// failed: … read init-p: connection reset by peer", opencontainers/runc#1914; Podman the like on stderr), and
// of the exec that it ended with code 126 (125) and has pid 0. Nothing of the command has run then.
#pragma once

#include "client/container/container_engine.hpp"

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace dockdist {

// Whether an engine says by this that its runtime died, rather than that the command cannot be started.
bool runtime_died(std::string_view text);

// The engine outlives it.
class StartedExec final : public ExecStream {
public:
    StartedExec(ContainerEngine& engine, ContainerId container, ExecConfig config)
        : engine_(engine), container_(std::move(container)), config_(std::move(config)) {}

    // Once, before anything else: create_exec and start_exec, two round trips.
    Task<Status> start();
    // The one that was started last.
    const ExecId& id() const { return id_; }

    Task<Result<Chunk>> read() override;
    Task<Status> write(std::span<const char> bytes) override;
    Task<Status> close_stdin() override;

private:
    Task<Status> start_once();
    Task<Status> start_again();
    Task<Status> hear_beginning();
    Task<Result<Chunk>> first_chunk();
    Task<Status> first_write(std::span<const char> bytes);
    Task<bool> never_began();
    Error died(std::string_view text) const;
    void settle();

    ContainerEngine& engine_;
    ContainerId container_;
    ExecConfig config_;
    ExecId id_{};
    std::shared_ptr<ExecStream> stream_{}; // shared: a write to the one before may still be under way
    std::string input_{};                  // what was written until it has begun
    std::deque<Chunk> chunks_{};           // read, and not yet given
    int starts_ = 0;
    bool input_ended_ = false;
    bool settled_ = false; // it has begun, or is not started again any more
    bool replaying_ = false;
};

} // namespace dockdist
