// A way to a host by ssh, and the connections on it: dockdist's own ssh (SshSession), or the user's
// (UserSsh).
#pragma once

#include "client/engine/transport/byte_stream.hpp"

#include <memory>
#include <optional>
#include <string>

namespace dockdist {

class SshLink {
public:
    SshLink() = default;
    SshLink(const SshLink&) = delete;
    SshLink& operator=(const SshLink&) = delete;
    virtual ~SshLink() = default;

    // Why nothing works on it any more; empty while it does.
    virtual const std::optional<Error>& broken() const = 0;
    // The machine, in messages.
    virtual const std::string& where() const = 0;

    // No stream means that the server refused, and why. Errors: broken(). A stream holds `self`.
    struct Opened {
        std::unique_ptr<ByteStream> stream{};
        std::string refusal{};
    };
    virtual Task<Result<Opened>> open_socket(std::shared_ptr<SshLink> self, std::string path) = 0;
    // A command's stdin and stdout. sshd runs few commands at a time (MaxSessions): a place counts until its
    // last copy goes.
    using CommandPlace = std::shared_ptr<void>;
    virtual Task<Result<Opened>> open_command(std::shared_ptr<SshLink> self, std::string command,
                                              CommandPlace place) = 0;
    CommandPlace place_for_command() const {
        ++*commands_;
        return {commands_.get(), [count = commands_](void*) { --*count; }};
    }
    int commands_running() const { return *commands_; }

private:
    std::shared_ptr<int> commands_ = std::make_shared<int>(0);
};

// A command's output has ended and nothing had come; `complaint` is what it wrote to stderr.
Error ended_silently(const std::string& where, const std::string& complaint);

// Asks the engine at the other end of a command's stream for a sign of life, and passes over whatever the
// host's shell prints before it. The same stream, of which nothing is left to be read. Errors: of the stream;
// protocol, what answers is no engine.
Task<Result<std::unique_ptr<ByteStream>>> answering(std::unique_ptr<ByteStream> stream);

} // namespace dockdist
