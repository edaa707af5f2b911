#include "client/engine/docker_engine.hpp"

#include "client/engine/endpoints/archives.hpp"
#include "client/engine/endpoints/build.hpp"
#include "client/engine/endpoints/containers.hpp"
#include "client/engine/endpoints/exec.hpp"
#include "client/engine/endpoints/images.hpp"
#include "client/engine/endpoints/logs.hpp"
#include "client/engine/endpoints/system.hpp"
#include "client/engine/engine_session.hpp"
#include "client/engine/transport/ssh/commons.hpp"
#include "shared/core/loopback.hpp"

#include <fmt/format.h>

namespace dockdist {
namespace {

std::unique_ptr<Transport> make_transport(const boost::asio::any_io_executor& executor,
                                          const EngineEndpoint& endpoint) {
    using Scheme = EngineAddress::Scheme;
    const auto& address = endpoint.address;
    const auto limit = endpoint.limits.connect;
    switch (address.scheme) {
    case Scheme::unix_socket:
        return make_unix_transport(executor, address, limit);
    case Scheme::tls:
        return make_tls_transport(executor, address, endpoint.tls.value_or(TlsFiles{}), limit);
    case Scheme::tcp:
        if (endpoint.tls) {
            return make_tls_transport(executor, address, *endpoint.tls, limit);
        }
        if (!endpoint.insecure && !is_loopback(address.host)) {
            return make_refusing_transport(
                {ErrorKind::config, "",
                 fmt::format("{} is plain TCP: whoever can reach that port is root on the host", address.url),
                 fmt::format(
                     "write ssh://USER@{}, give the host `tls:` files, or say `insecure: true` for it",
                     address.host)});
        }
        return make_tcp_transport(executor, address, limit);
    case Scheme::ssh:
        return make_ssh_transport(executor, address, endpoint.ssh, limit);
    case Scheme::srun:
    case Scheme::srun_podman:
        return make_srun_transport(executor, address, endpoint.node_program, limit);
    }
    return make_refusing_transport({ErrorKind::internal, "", "an address of an unknown kind", ""});
}

class DockerEngine final : public endpoints::SystemEndpoints,
                           public endpoints::ContainerEndpoints,
                           public endpoints::ArchiveEndpoints,
                           public endpoints::LogEndpoints,
                           public endpoints::ExecEndpoints,
                           public endpoints::ImageEndpoints,
                           public endpoints::BuildEndpoints {
public:
    DockerEngine(const boost::asio::any_io_executor& executor, EngineEndpoint endpoint)
        : EngineCalls(make_session(executor, std::move(endpoint))) {}
    ~DockerEngine() override { session_->http.close(); }

    const HostName& host() const override { return session_->endpoint.host; }
    const EngineAddress& address() const override { return session_->endpoint.address; }
    bool podman() const override { return session_->podman(); }
    int round_trips() const override { return session_->round_trips(); }
    std::string way() const override { return session_->way(); }

private:
    static Session make_session(const boost::asio::any_io_executor& executor, EngineEndpoint endpoint) {
        auto transport = make_transport(executor, endpoint);
        return std::make_shared<EngineSession>(executor, std::move(endpoint), std::move(transport));
    }
};

} // namespace

std::unique_ptr<ContainerEngine> make_docker_engine(const boost::asio::any_io_executor& executor,
                                                    EngineEndpoint endpoint) {
    return std::make_unique<DockerEngine>(executor, std::move(endpoint));
}

void on_terminal_questions(const boost::asio::any_io_executor& executor, std::function<void(bool)> hold) {
    SshCommons::of(executor).questions(executor).hold = std::move(hold);
}

} // namespace dockdist
