// OpenSSH's own sshd before a StubServer, on 127.0.0.1, with keys and a configuration made on the spot. It is
// started for each connection (sshd -i), so that there is nothing to wait for and nothing that stays. Its
// users' socket "docker.sock" leads to the StubServer.
#pragma once

#include "client/engine/transport/ssh/settings.hpp"
#include "fakes/tls_front.hpp"
#include "shared/core/engine_address.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>
#include <string>

namespace dockdist {

class SshFront {
public:
    // `more` are lines for sshd_config, before all others.
    SshFront(boost::asio::io_context& io, const TemporaryFolder& folder, const EngineAddress& behind,
             const std::string& more = "");
    SshFront(const SshFront&) = delete;
    SshFront& operator=(const SshFront&) = delete;
    ~SshFront();

    EngineAddress address() const;
    // Of a user who may log in by the key "id", and knows the host.
    SshSettings settings() const;
    int connections() const; // that were let through to an sshd
    // Sends the next `count` connections away as sshd does when too many are logging in.
    void turn_away(int count);
    int turned_away() const;
    // Ends every sshd that runs.
    void hang_up();
    // Every sshd stops answering, with its connections open, until hang_up().
    void freeze();
    // Makes another key pair, that sshd takes when `allowed`. Its private key's path.
    std::string make_key(const std::string& name, const std::vector<std::string>& options,
                         bool allowed = true);
    std::string known_hosts() const; // the file's path
    std::string known_hosts_line() const;
    // What sshd has said, once every client has gone: waits for that.
    std::string log_of_the_end();

private:
    struct State;
    std::shared_ptr<State> state_;
};

// Runs a program to its end; throws when it fails. What it wrote to stdout.
std::string run_program(const std::vector<std::string>& command);

} // namespace dockdist
