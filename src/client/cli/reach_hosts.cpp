#include "client/cli/reach_hosts.hpp"

#include "client/async/run_all.hpp"
#include "client/engine/docker_context.hpp"
#include "client/toolkit/toolkit.hpp"
#include "client/toolkit/toolkit_program.hpp"
#include "shared/core/loopback.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/ip/address.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <map>

namespace dockdist {
namespace {

bool is_numeric(const std::string& host) {
    boost::system::error_code error;
    (void)boost::asio::ip::make_address(host, error);
    return !error;
}

Status use_context(HostSpec& host) {
    auto context = load_docker_context(host.context, client_environment);
    TRY(context);
    host.docker = std::move(context->address);
    host.tls = std::move(context->tls);
    if (host.address.empty() && host.subnets.empty() && !is_loopback(host.docker.host)) {
        host.address = host.docker.host; // as read_hosts does for an address in the file
    }
    return ok;
}

// What peers can make of an alias is the address behind it.
void use_address_behind(HostSpec& host, const SshSettings& settings) {
    if (host.address == host.docker.host && !is_numeric(host.docker.host)) {
        host.address = is_loopback(settings.host) ? "" : settings.host;
    }
}

// Read once for each architecture, whatever the number of hosts.
Result<std::shared_ptr<const std::string>> node_program(const std::string& machine) {
    static std::map<std::string, std::shared_ptr<const std::string>> known;
    if (const auto found = known.find(machine); found != known.end()) {
        return found->second;
    }
    const auto* toolkit = toolkits().of(go_architecture(machine));
    if (toolkit == nullptr) {
        return Error{
            ErrorKind::config, "",
            fmt::format("the node is {}, for which this dockdist has no toolkit", printable(machine)),
            "it has " + toolkits().architectures()};
    }
    auto program = toolkit_program(*toolkit, "libexec/dockdist-init");
    TRY(program);
    return known[machine] = std::make_shared<const std::string>(std::move(*program));
}

Task<Result<EngineEndpoint>> reach(boost::asio::any_io_executor executor, HostSpec& host) {
    if (host.use_current_context) {
        host.context = current_docker_context(client_environment);
    }
    if (!host.context.empty()) {
        CO_TRY(use_context(host));
    }
    EngineEndpoint endpoint{
        .host = host.name, .address = host.docker, .tls = host.tls, .insecure = host.insecure};
    if (host.docker.scheme == EngineAddress::Scheme::ssh) {
        auto settings = co_await read_ssh_settings(executor, host.docker);
        CO_TRY(settings);
        use_address_behind(host, *settings);
        endpoint.ssh = std::move(*settings);
    }
    if (host.docker.by_srun()) {
        endpoint.node_program = node_program;
    }
    co_return endpoint;
}

} // namespace

Task<Reached> reach_hosts(const Context& context, ClusterSpec& spec, const std::vector<bool>& only) {
    std::vector<Task<Result<EngineEndpoint>>> tasks;
    tasks.reserve(spec.hosts.size());
    std::vector<std::size_t> asked;
    for (std::size_t i = 0; i < spec.hosts.size(); ++i) {
        if (only.empty() || only[i]) {
            asked.push_back(i);
            tasks.push_back(reach(context.executor, spec.hosts[i]));
        }
    }
    const auto results = co_await run_all(std::move(tasks));
    Reached reached;
    reached.endpoints.resize(spec.hosts.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i]) {
            reached.endpoints[asked[i]] = *results[i];
        } else {
            Error error = results[i].error();
            error.where = spec.hosts[asked[i]].name.str();
            reached.errors.push_back(std::move(error));
        }
    }
    co_return reached;
}

} // namespace dockdist
