#include "client/forward/node_tunnel.hpp"

#include "client/container/exec_command.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/layout.hpp"

#include <utility>

namespace dockdist {
namespace {

Error node_tunnel_ended(std::string_view complaint) {
    if (complaint.starts_with(layout::init_usage)) {
        return {ErrorKind::protocol, "", "the node was created by a dockdist that could not forward ports",
                "`dockdist up` recreates it"};
    }
    const auto line = printable(complaint.substr(0, complaint.find('\n')));
    return {ErrorKind::node, "", "the tunnel's end in the node is gone" + (line.empty() ? "" : ": " + line),
            ""};
}

} // namespace

Task<Error> run_node_tunnel(std::shared_ptr<TunnelClient> client, ContainerEngine& engine, ContainerId id,
                            std::function<void()> on_ready) {
    ExecConfig config{
        .command = {layout::init, "tunnel", wire::tunnel_ask({.lease_ms = client->times().lease.count()})},
        .user = "0:0"};
    auto stream = co_await start_command(engine, std::move(id), std::move(config));
    CO_TRY(stream);
    const auto ended = co_await client->run(**stream, std::move(on_ready));
    co_return ended ? node_tunnel_ended(client->complaint()) : ended.error();
}

} // namespace dockdist
