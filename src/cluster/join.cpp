#include "cluster/join.hpp"

#include "async/pause.hpp"
#include "async/run_all.hpp"
#include "async/with_timeout.hpp"
#include "cluster/container_end.hpp"
#include "cluster/joined_record.hpp"
#include "container/exec_command.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "report/step.hpp"
#include "wire/layout.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace dockdist {
namespace {

class Conversation {
public:
    Conversation(JoinTarget target, Reporter& reporter)
        : target_(std::move(target)), step_(reporter, "join", target_.request.node, "exchange keys") {}

    Task<Result<wire::NodeRecord>> hello(std::chrono::milliseconds timeout) {
        auto result =
            co_await with_timeout(open_and_read_hello(), timeout,
                                  Error{ErrorKind::timeout, target_.where,
                                        "the node did not say hello within " + format_duration(timeout),
                                        "see `docker logs` of its container"});
        if (!result) {
            result = co_await explained(result.error());
            step_.failed(result.error().message);
        }
        co_return result;
    }

    Task<Status> ready(const std::string& members, std::chrono::milliseconds timeout) {
        auto result = co_await with_timeout(
            send_and_wait(members), timeout,
            Error{ErrorKind::timeout, target_.where,
                  "the node was not ready within " + format_duration(timeout),
                  "see `docker logs` of its container, and whether the nodes reach each other"});
        if (result) {
            step_.finished("ready");
        } else {
            result = co_await explained(result.error());
            step_.failed(result.error().message);
        }
        co_return result;
    }

private:
    // A container that has ended says why itself; what became of the exchange then says nothing. The engine
    // may say a moment later than the exchange that it has ended.
    Task<Error> explained(Error error) {
        constexpr int looks = 2;
        constexpr std::chrono::milliseconds pause{200};
        const bool unexplained =
            !node_has_said_ && error.kind != ErrorKind::unreachable && error.kind != ErrorKind::timeout;
        for (int look = 0; unexplained && look < looks; ++look) {
            if (look > 0) {
                co_await pause_for(pause);
            }
            if (const auto end = co_await find_container_end(*target_.engine, target_.id)) {
                co_return located(*end);
            }
        }
        co_return error;
    }

    Error located(Error error) const {
        error.where = target_.where;
        return error;
    }

    Task<Result<wire::NodeRecord>> open_and_read_hello() {
        ExecConfig config;
        config.command = {layout::init, "join", nlohmann::json(target_.request).dump()};
        config.user = "0:0";
        auto exec = co_await start_command(*target_.engine, target_.id, std::move(config));
        if (!exec) {
            co_return located(exec.error());
        }
        lines_ = std::make_unique<ExecLines>(std::move(*exec));
        auto message = co_await next();
        if (!message) {
            co_return message.error();
        }
        if (message->type != wire::JoinMessage::Type::hello) {
            co_return Error{ErrorKind::protocol, target_.where, "the node answered something else than hello",
                            ""};
        }
        if (const auto checked = check_record(message->record, target_.request, target_.machine); !checked) {
            co_return located(checked.error());
        }
        co_return std::move(message->record);
    }

    Task<Status> send_and_wait(const std::string& members) {
        if (const auto written = co_await lines_->write(members); !written) {
            co_return located(written.error());
        }
        while (true) {
            const auto message = co_await next();
            if (!message) {
                co_return message.error();
            }
            if (message->type == wire::JoinMessage::Type::ready) {
                co_return ok;
            }
        }
    }

    // The node's next message; its own error, or the end of its stream, is an error here.
    Task<Result<wire::JoinMessage>> next() {
        auto line = co_await lines_->next_line();
        if (!line) {
            co_return located(line.error());
        }
        if (!*line) {
            const auto said = printable(lines_->err());
            co_return Error{ErrorKind::node, target_.where,
                            "the node ended the key exchange" + (said.empty() ? "" : ": " + said),
                            "see `docker logs` of its container"};
        }
        auto message = wire::parse_join_message(**line);
        if (!message) {
            co_return Error{ErrorKind::protocol, target_.where,
                            "not a message of the key exchange: " + printable(**line), ""};
        }
        if (message->type == wire::JoinMessage::Type::error) {
            node_has_said_ = true;
            co_return located(message->error);
        }
        co_return message;
    }

    JoinTarget target_;
    Step step_;
    std::unique_ptr<ExecLines> lines_{};
    bool node_has_said_ = false; // what is wrong
};

} // namespace

Task<JoinResult> join_nodes(std::vector<JoinTarget> targets, std::string cluster,
                            std::chrono::milliseconds hello_timeout, std::chrono::milliseconds ready_timeout,
                            Reporter& reporter) {
    JoinResult result;
    std::vector<std::unique_ptr<Conversation>> conversations;
    std::vector<Task<Result<wire::NodeRecord>>> hellos;
    for (auto& target : targets) {
        conversations.push_back(std::make_unique<Conversation>(std::move(target), reporter));
        hellos.push_back(conversations.back()->hello(hello_timeout));
    }
    for (auto& hello : co_await run_all(std::move(hellos))) {
        if (hello) {
            result.records.push_back(std::move(*hello));
        } else {
            result.errors.push_back(hello.error());
        }
    }
    if (auto distinct = check_distinct(result.records); result.errors.empty() && !distinct) {
        result.errors.push_back(distinct.error());
    }
    if (!result.errors.empty()) {
        co_return result;
    }
    const auto members = wire::members_line({.cluster = std::move(cluster), .nodes = result.records});
    std::vector<Task<Status>> rest;
    for (auto& conversation : conversations) {
        rest.push_back(conversation->ready(members, ready_timeout));
    }
    for (auto& ready : co_await run_all(std::move(rest))) {
        if (!ready) {
            result.errors.push_back(ready.error());
        }
    }
    co_return result;
}

} // namespace dockdist
