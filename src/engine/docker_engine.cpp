#include "engine/docker_engine.hpp"

#include "core/loopback.hpp"
#include "engine/endpoints/endpoints.hpp"
#include "engine/engine_session.hpp"
#include "engine/transport/ssh/commons.hpp"

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
    }
    return make_refusing_transport({ErrorKind::internal, "", "an address of an unknown kind", ""});
}

class DockerEngine final : public ContainerEngine {
public:
    DockerEngine(const boost::asio::any_io_executor& executor, EngineEndpoint endpoint)
        : transport_(make_transport(executor, endpoint)),
          session_(std::make_shared<EngineSession>(executor, std::move(endpoint), transport_)) {}
    ~DockerEngine() override { session_->http.close(); }

    const HostName& host() const override { return session_->endpoint.host; }
    const EngineAddress& address() const override { return session_->endpoint.address; }
    int round_trips() const override { return session_->round_trips(); }

    Task<Result<ApiVersion>> ping() override { return negotiate(session_); }
    Task<Result<EngineInfo>> info() override { return endpoints::info(session_); }

    Task<Result<std::vector<ContainerSummary>>> list_containers(ListQuery query) override {
        return endpoints::list_containers(session_, std::move(query));
    }
    Task<Result<ContainerDetails>> inspect_container(ContainerId id) override {
        return endpoints::inspect_container(session_, std::move(id));
    }
    Task<Result<ContainerId>> create_container(std::string name, ContainerConfig config) override {
        return endpoints::create_container(session_, std::move(name), std::move(config));
    }
    Task<Status> start_container(ContainerId id) override {
        return endpoints::start_container(session_, std::move(id));
    }
    Task<Status> stop_container(ContainerId id, std::chrono::seconds grace) override {
        return endpoints::stop_container(session_, std::move(id), grace);
    }
    Task<Status> remove_container(ContainerId id) override {
        return endpoints::remove_container(session_, std::move(id));
    }
    Task<Result<std::unique_ptr<LogStream>>> container_logs(ContainerId id, LogQuery query) override {
        return endpoints::container_logs(session_, std::move(id), query);
    }
    Task<Result<std::string>> container_log_tail(ContainerId id, int lines) override {
        return endpoints::container_log_tail(session_, std::move(id), lines);
    }
    Task<Status> put_archive(ContainerId id, std::string path, std::span<const char> tar) override {
        return endpoints::put_archive(session_, std::move(id), std::move(path), tar);
    }

    Task<Result<ExecId>> create_exec(ContainerId id, ExecConfig config) override {
        return endpoints::create_exec(session_, std::move(id), std::move(config));
    }
    Task<Result<std::unique_ptr<ExecStream>>> start_exec(ExecId id, bool tty) override {
        return endpoints::start_exec(session_, std::move(id), tty);
    }
    Task<Result<ExecState>> inspect_exec(ExecId id) override {
        return endpoints::inspect_exec(session_, std::move(id));
    }
    Task<Status> resize_exec(ExecId id, int rows, int columns) override {
        return endpoints::resize_exec(session_, std::move(id), rows, columns);
    }

    Task<Result<ImageDetails>> inspect_image(ImageRef ref) override {
        return endpoints::inspect_image(session_, std::move(ref));
    }
    Task<Status> pull_image(ImageRef ref, std::string platform, std::string registry_auth,
                            std::function<void(const PullProgress&)> on_progress) override {
        return endpoints::pull_image(session_, std::move(ref), std::move(platform), std::move(registry_auth),
                                     std::move(on_progress));
    }

    Task<Result<std::unique_ptr<ByteSource>>> export_image(ImageRef ref) override {
        return endpoints::export_image(session_, std::move(ref));
    }
    Task<Status> import_image(std::string repository, std::string tag, std::span<const char> tar) override {
        return endpoints::import_image(session_, std::move(repository), std::move(tag), tar);
    }
    Task<Status> tag_image(ImageRef ref, std::string repository, std::string tag) override {
        return endpoints::tag_image(session_, std::move(ref), std::move(repository), std::move(tag));
    }
    Task<Status> remove_image(ImageRef ref) override {
        return endpoints::remove_image(session_, std::move(ref));
    }
    Task<Result<std::string>> build_image(BuildConfig config, std::span<const char> tar,
                                          std::function<void(const BuildOutput&)> on_output) override {
        return endpoints::build_image(session_, std::move(config), tar, std::move(on_output));
    }

    Task<Result<VolumeDetails>> inspect_volume(std::string name) override {
        return endpoints::inspect_volume(session_, std::move(name));
    }
    Task<Status> remove_volume(std::string name) override {
        return endpoints::remove_volume(session_, std::move(name));
    }

    Task<Result<std::unique_ptr<EventStream>>> events(EventFilter filter) override {
        return endpoints::events(session_, std::move(filter));
    }

private:
    static Task<Result<ApiVersion>> negotiate(std::shared_ptr<EngineSession> session) {
        co_return co_await session->negotiate(true);
    }

    std::shared_ptr<Transport> transport_;
    std::shared_ptr<EngineSession> session_;
};

} // namespace

std::unique_ptr<ContainerEngine> make_docker_engine(const boost::asio::any_io_executor& executor,
                                                    EngineEndpoint endpoint) {
    return std::make_unique<DockerEngine>(executor, std::move(endpoint));
}

void on_terminal_questions(const boost::asio::any_io_executor& executor, std::function<void(bool)> hold) {
    SshCommons::of(executor).secrets(executor)->hold = std::move(hold);
}

} // namespace dockdist
