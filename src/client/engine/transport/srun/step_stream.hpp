// A step's stdin and stdout, as the tunnel uses those of an exec.
#pragma once

#include "client/async/child_process.hpp"
#include "client/container/container_engine.hpp"

#include <memory>
#include <string>

namespace dockdist {

class StepStream final : public ExecStream {
public:
    explicit StepStream(std::unique_ptr<ChildProcess> srun) : srun_(std::move(srun)) {}

    ChildProcess& srun() { return *srun_; }
    // Reads until tunnel_begins, and drops what a site's prologs say before it. Errors: protocol, when the
    // output ends without it or goes on for too long.
    Task<Status> skip_to_tunnel();

    Task<Result<Chunk>> read() override;
    Task<Status> write(std::span<const char> bytes) override;
    Task<Status> close_stdin() override;

private:
    std::unique_ptr<ChildProcess> srun_;
    std::string early_{}; // read behind tunnel_begins
};

} // namespace dockdist
