// The conversation with one node's `dockdist-init sync`: one exec, for as many trees as there are.
#pragma once

#include "client/container/container_engine.hpp"
#include "shared/wire/layout.hpp"
#include "shared/wire/tree.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace dockdist {

// What is run in a container, and as whom.
struct SyncExec {
    wire::SyncOpening opening{};
    std::string program = layout::init;
    std::string user = "0:0";
};

class NodeStream {
public:
    // Two round trips. Errors of it and of all below have where = the node.
    static Task<Result<std::unique_ptr<NodeStream>>> open(ContainerEngine& engine, ContainerId id,
                                                          NodeName node, SyncExec run);

    const NodeName& node() const { return node_; }

    // Encoded messages. A reader has to be at work beside a writer that sends more than a few of them.
    Task<Status> write(const std::string& messages);
    Task<Result<wire::SyncMessage>> next();

    using Handler = std::function<void(wire::SyncMessage)>;
    // Everything up to the answer to a barrier; `done` itself is not handed on.
    Task<Status> read_until_done(const Handler& handler);
    // Writes the messages and a barrier, and reads until it is answered.
    Task<Status> ask(std::string messages, Handler handler);

    Error located(Error error) const;
    // A message `problem` as an error of this node.
    Error problem(const wire::SyncMessage& message) const;

private:
    NodeStream(std::unique_ptr<ExecStream> stream, NodeName node)
        : stream_(std::move(stream)), node_(std::move(node)) {}

    std::unique_ptr<ExecStream> stream_;
    NodeName node_;
    wire::SyncDecoder decoder_{};
    std::string err_{};
};

} // namespace dockdist
