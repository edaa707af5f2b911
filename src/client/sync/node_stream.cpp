#include "client/sync/node_stream.hpp"

#include "client/async/run_all.hpp"
#include "client/container/exec_command.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/layout.hpp"

namespace dockdist {
namespace {

constexpr std::size_t longest_err = 4096;

using Kind = wire::SyncMessage::Kind;

} // namespace

Task<Result<std::unique_ptr<NodeStream>>> NodeStream::open(ContainerEngine& engine, ContainerId id,
                                                           NodeName node, SyncExec run) {
    ExecConfig config;
    config.command = {run.program, "sync", wire::sync_opening(run.opening)};
    config.user = run.user;
    auto exec = co_await start_command(engine, id, std::move(config));
    if (!exec) {
        auto error = exec.error();
        error.where = node.str() + (error.where.empty() ? "" : " (" + error.where + ")");
        co_return error;
    }
    co_return std::unique_ptr<NodeStream>(new NodeStream(std::move(*exec), std::move(node)));
}

Error NodeStream::located(Error error) const {
    error.where = node_.str() + (error.where.empty() ? "" : " (" + error.where + ")");
    return error;
}

Error NodeStream::problem(const wire::SyncMessage& message) const {
    const auto newline = message.text.find('\n');
    return {.kind = ErrorKind::node,
            .where = node_.str(),
            .message = printable(message.text.substr(0, newline)),
            .hint = newline == std::string::npos ? "" : printable(message.text.substr(newline + 1))};
}

Task<Status> NodeStream::write(const std::string& messages) {
    const auto written = co_await stream_->write(messages);
    if (!written) {
        co_return located(written.error());
    }
    co_return ok;
}

Task<Result<wire::SyncMessage>> NodeStream::next() {
    while (true) {
        auto message = decoder_.next();
        if (!message) {
            co_return located(message.error());
        }
        if (*message) {
            co_return std::move(**message);
        }
        const auto chunk = co_await stream_->read();
        if (!chunk) {
            co_return located(chunk.error());
        }
        if (chunk->end) {
            const bool usage = err_.starts_with(layout::init_usage);
            co_return Error{.kind = ErrorKind::node,
                            .where = node_.str(),
                            .message = "its part of the transfer ended" +
                                       (usage || err_.empty() ? "" : ": " + printable(err_)),
                            .hint = usage ? "the node is of an older dockdist: run `dockdist up`"
                                          : "`dockdist status` shows whether the node still runs"};
        }
        if (chunk->stream == StdStream::out) {
            decoder_.feed(chunk->bytes);
        } else {
            err_.append(chunk->bytes, 0, longest_err - std::min(longest_err, err_.size()));
        }
    }
}

Task<Status> NodeStream::read_until_done(const Handler& handler) {
    while (true) {
        auto message = co_await next();
        CO_TRY(message);
        if (message->kind == Kind::done) {
            co_return ok;
        }
        handler(std::move(*message));
    }
}

Task<Status> NodeStream::ask(std::string messages, Handler handler) {
    wire::append(messages, {.kind = Kind::barrier});
    std::vector<Task<Status>> both;
    both.push_back(read_until_done(handler)); // its error says more than the writer's
    both.push_back(write(messages));
    for (const auto& status : co_await run_all(std::move(both))) {
        CO_TRY(status);
    }
    co_return ok;
}

} // namespace dockdist
