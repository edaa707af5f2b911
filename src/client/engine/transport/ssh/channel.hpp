// ByteStream on a channel of an ssh session.
#pragma once

#include "client/engine/transport/ssh/session.hpp"

namespace dockdist {

class SshChannel final : public ByteStream {
public:
    // With a `place` a command runs on it: when that says nothing and ends, its stderr is the error.
    SshChannel(std::shared_ptr<SshSession> session, LIBSSH2_CHANNEL* channel, SshSession::CommandPlace place);
    ~SshChannel() override;

    Task<Result<std::size_t>> read_some(std::span<char> buffer) override;
    Task<Status> write(std::span<const char> bytes) override;
    Task<Status> shutdown_send() override;
    void close() noexcept override;
    bool stale() override;

private:
    // What pending reads and writes hold, for they may outlive the stream by a turn of the loop.
    struct Shared {
        std::shared_ptr<SshSession> session;
        LIBSSH2_CHANNEL* channel; // null: closed
        SshSession::CommandPlace place;
        bool heard = false;
    };
    static Task<Result<std::size_t>> read_some(std::shared_ptr<Shared> shared, std::span<char> buffer);
    static Task<Status> write(std::shared_ptr<Shared> shared, std::span<const char> bytes);
    static Task<Status> shutdown_send(std::shared_ptr<Shared> shared);
    static Result<std::size_t> ended(Shared& shared);
    static Status usable(const Shared& shared);

    std::shared_ptr<Shared> shared_;
};

} // namespace dockdist
