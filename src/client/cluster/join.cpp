#include "client/cluster/join.hpp"

#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/cluster/container_end.hpp"
#include "client/cluster/joined_record.hpp"
#include "client/cluster/unreached.hpp"
#include "client/container/engine_words.hpp"
#include "client/container/exec_command.hpp"
#include "client/report/step.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/digest/sha256.hpp"
#include "shared/wire/handed_on.hpp"
#include "shared/wire/layout.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace dockdist {
namespace {

// The node's own deadline names its unreached peers: let it speak first.
constexpr std::chrono::seconds ready_margin{10};

class Conversation {
public:
    Conversation(JoinTarget target, Reporter& reporter)
        : target_(std::move(target)), step_(reporter, "join", target_.request.node, "exchange keys") {}

    Task<Result<wire::NodeRecord>> hello(std::chrono::milliseconds timeout) {
        auto result =
            co_await with_timeout(open_and_read_hello(), timeout,
                                  Error{ErrorKind::timeout, target_.where,
                                        "the node did not say hello within " + format_duration(timeout),
                                        see_container_log(target_.engine->podman())});
        if (!result) {
            result = co_await explained(result.error());
            step_.failed(result.error().message);
        }
        co_return result;
    }

    // `list`: the line, for a node that is to get it from here or asks for it.
    Task<Status> ready(wire::MembersNotice notice, const std::string& list,
                       std::chrono::milliseconds timeout) {
        auto result = co_await with_timeout(
            send_and_wait(std::move(notice), list), timeout,
            Error{ErrorKind::timeout, target_.where,
                  "the node was not ready within " + format_duration(timeout),
                  see_container_log(target_.engine->podman()) + ", and whether the nodes reach each other"});
        if (result) {
            step_.finished("ready");
        } else {
            result = co_await explained(result.error());
            step_.failed(result.error().message);
        }
        co_return result;
    }

    JoinFailure failure(Error error) {
        return {target_.request.node, std::move(error), std::move(unreached_)};
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
        CO_TRY(co_await open());
        auto message = co_await next();
        while (message && message->type == wire::JoinMessage::Type::other) { // of the container's log
            message = co_await next();
        }
        CO_TRY(message);
        if (message->type != wire::JoinMessage::Type::hello) {
            co_return Error{ErrorKind::protocol, target_.where,
                            "the node answered something other than hello", ""};
        }
        if (const auto checked = check_record(message->record, target_.request, target_.machine); !checked) {
            co_return located(checked.error());
        }
        co_return std::move(message->record);
    }

    Task<Status> open() {
        if (target_.attached) {
            lines_ = std::make_unique<ExecLines>(std::move(target_.attached));
            co_return ok;
        }
        ExecConfig config;
        config.command = {layout::init, "join", nlohmann::json(target_.request).dump()};
        config.user = "0:0";
        auto exec = co_await start_command(*target_.engine, target_.id, std::move(config));
        if (!exec) {
            co_return located(exec.error());
        }
        lines_ = std::make_unique<ExecLines>(std::move(*exec));
        co_return ok;
    }

    Task<Status> send_and_wait(wire::MembersNotice notice, const std::string& list) {
        bool sent = !notice.giver;
        notice.settings = std::move(target_.settings);
        auto written = co_await lines_->write(wire::members_notice_line(notice));
        if (written && sent) {
            written = co_await lines_->write_borrowed(list);
        }
        if (!written) {
            co_return located(written.error());
        }
        while (true) {
            const auto message = co_await next();
            CO_TRY(message);
            if (message->type == wire::JoinMessage::Type::ready) {
                co_return ok;
            }
            if (message->type == wire::JoinMessage::Type::want && !std::exchange(sent, true)) {
                step_.progress(printable(notice.giver->node) + " does not pass on the list of members", {},
                               {});
                if (written = co_await lines_->write_borrowed(list); !written) {
                    co_return located(written.error());
                }
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
                            see_container_log(target_.engine->podman())};
        }
        auto message = wire::parse_join_message(**line);
        if (!message) {
            co_return Error{ErrorKind::protocol, target_.where,
                            "not a message of the key exchange: " + printable(**line), ""};
        }
        if (message->type == wire::JoinMessage::Type::error) {
            node_has_said_ = true;
            unreached_ = std::move(message->unreached);
            co_return located(message->error);
        }
        co_return message;
    }

    JoinTarget target_;
    Step step_;
    std::unique_ptr<ExecLines> lines_{};
    std::vector<wire::Unreached> unreached_{};
    bool node_has_said_ = false; // what is wrong
};

// What each node is told of the list, by its place in it.
std::vector<wire::MembersNotice> make_notices(const std::vector<wire::NodeRecord>& records,
                                              const std::string& list,
                                              std::chrono::milliseconds ready_timeout) {
    // A hand takes about 0.1 s, on a host of many nodes that all begin at once a second or two.
    constexpr std::chrono::milliseconds patience_a_hand{5000};
    std::vector<std::string> hosts;
    std::ranges::transform(records, std::back_inserter(hosts), &wire::NodeRecord::address);
    auto first = wire::told_by_client(list.size(), records.size());
    if (first < records.size()) {
        first = wire::told_by_client(list.size(), std::set(hosts.begin(), hosts.end()).size());
    }
    const wire::Hands hands(std::move(hosts), first);
    const auto sha256 = sha256_hex(list);
    std::vector<wire::MembersNotice> notices;
    for (std::size_t place = 0; place < records.size(); ++place) {
        auto& notice = notices.emplace_back();
        notice.sha256 = sha256;
        notice.first = static_cast<int>(first);
        if (const auto giver = hands.giver_of(place)) {
            notice.giver = records[*giver];
        }
        const auto patience = patience_a_hand * hands.hands_before(place);
        notice.patience_ms = static_cast<int>(std::min(patience, ready_timeout / 3).count());
    }
    return notices;
}

} // namespace

std::string join_line(const wire::JoinRequest& request) {
    return nlohmann::json(request).dump() + "\n";
}

Task<JoinResult> join_nodes(std::vector<JoinTarget> targets, std::string cluster,
                            std::chrono::milliseconds hello_timeout, std::chrono::milliseconds ready_timeout,
                            Reporter& reporter) {
    JoinResult result;
    std::vector<std::unique_ptr<Conversation>> conversations;
    std::vector<Task<Result<wire::NodeRecord>>> hellos;
    std::vector<std::string> where;
    for (auto& target : targets) {
        where.push_back(target.where);
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
    for (const auto& checked : {check_distinct(result.records), check_one_family(result.records)}) {
        if (result.errors.empty() && !checked) {
            result.errors.push_back(checked.error());
        }
    }
    if (!result.errors.empty()) {
        co_return result;
    }
    const auto list = wire::members_list({.cluster = std::move(cluster), .nodes = result.records});
    auto notices = make_notices(result.records, list, ready_timeout);
    const auto line = list + "\n";
    std::vector<Task<Status>> rest;
    for (std::size_t i = 0; i < conversations.size(); ++i) {
        rest.push_back(conversations[i]->ready(std::move(notices[i]), line, ready_timeout + ready_margin));
    }
    std::vector<JoinFailure> failures;
    const auto readies = co_await run_all(std::move(rest));
    for (std::size_t i = 0; i < readies.size(); ++i) {
        if (!readies[i]) {
            failures.push_back(conversations[i]->failure(readies[i].error()));
        }
    }
    result.errors = fold_unreached(std::move(failures), result.records, where);
    co_return result;
}

} // namespace dockdist
