#include "client/cluster/start_node.hpp"

namespace dockdist {

wire::JoinRequest request_of(const JoinNode& join, std::chrono::milliseconds ready_timeout) {
    auto request = join.request;
    request.ready_timeout_ms = static_cast<int>(ready_timeout.count());
    return request;
}

Task<Result<JoinStreamOrNone>> start_node_container(ContainerEngine& engine, ContainerId id, bool is_new,
                                                    std::optional<wire::JoinRequest> join) {
    JoinStreamOrNone stream;
    if (is_new && join) {
        auto attached = co_await engine.attach_container(id);
        CO_TRY(attached);
        stream = std::move(*attached);
        const auto line = join_line(*join);
        CO_TRY(co_await stream->write(line));
    }
    CO_TRY(co_await engine.start_container(std::move(id)));
    co_return Result<JoinStreamOrNone>(std::move(stream));
}

} // namespace dockdist
