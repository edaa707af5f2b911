// How to open a byte stream to one engine. Each kind of address has its own implementation.
#pragma once

#include "client/engine/node_program.hpp"
#include "client/engine/transport/byte_stream.hpp"
#include "client/engine/transport/ssh/settings.hpp"
#include "shared/core/engine_address.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace dockdist {

class Transport {
public:
    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    // Errors: unreachable, timeout, config (an address that may not be used so). Without `where`.
    virtual Task<Result<std::unique_ptr<ByteStream>>> connect() = 0;
    // By what else than dockdist itself, and why; empty: by itself.
    virtual std::string way() const { return ""; }
};

std::unique_ptr<Transport> make_unix_transport(const boost::asio::any_io_executor& executor,
                                               EngineAddress address,
                                               std::chrono::milliseconds connect_timeout);
std::unique_ptr<Transport> make_tcp_transport(const boost::asio::any_io_executor& executor,
                                              EngineAddress address,
                                              std::chrono::milliseconds connect_timeout);
// The peer's certificate is checked against tls.ca and the address's host name, and ours is shown to it.
std::unique_ptr<Transport> make_tls_transport(const boost::asio::any_io_executor& executor,
                                              EngineAddress address, TlsFiles tls,
                                              std::chrono::milliseconds connect_timeout);
// Connections are channels of one ssh connection, which is made when the first one is asked for and again
// after it was lost. Without `settings` those of `ssh -G` hold.
std::unique_ptr<Transport> make_ssh_transport(const boost::asio::any_io_executor& executor,
                                              EngineAddress address, std::optional<SshSettings> settings,
                                              std::chrono::milliseconds connect_timeout);
// Connections are channels of one tunnel over one step of the Slurm allocation that this process runs in,
// started when the first one is asked for and again after it was lost; of srun_podman, the engine too.
// `node_program`: for the node's end.
std::unique_ptr<Transport> make_srun_transport(const boost::asio::any_io_executor& executor,
                                               EngineAddress address, NodeProgram node_program,
                                               std::chrono::milliseconds connect_timeout);
// Every connect() ends with `error`, without touching the network.
std::unique_ptr<Transport> make_refusing_transport(Error error);

} // namespace dockdist
