#include "client/check/probe_group.hpp"

#include "client/async/async_event.hpp"
#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/exec_command.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/layout.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

// From the first failure to the end of all: the others say what they saw of it.
constexpr auto last_words = 1500ms;
// From the deadline, which each probe keeps, to the moment when nothing more is waited for.
constexpr auto patience = 15s;
constexpr int exit_wrong_elements = 1; // probe/order.hpp
// What a node may say: a series has some hundred sizes, and one error ends the group.
constexpr std::size_t most_measurements = 10'000;     // of a rank
constexpr std::size_t most_errors_of_each_node = 100; // on average

bool failed(const wire::ProbeEnd& end) {
    return end.signal != 0 || (end.code != 0 && end.code != exit_wrong_elements);
}

class Group {
public:
    Group(const boost::asio::any_io_executor& executor, std::vector<ProbeNode> nodes, json order,
          std::chrono::milliseconds deadline);

    Task<Status> run();
    ProbeWorld take() { return std::move(world_); }

private:
    struct Runner {
        ProbeNode node{};
        std::size_t first_rank = 0;
        int running = 0; // probes
        bool closed = false;
        std::unique_ptr<ExecLines> lines{};
    };

    Task<bool> open(Runner& runner);
    Task<bool> hear(Runner& runner);
    Task<bool> conduct();
    Task<bool> end_after_failure();
    Task<void> tell(Runner& runner, int local_rank, json line);
    Task<void> give_orders();
    void take_line(Runner& runner, std::string_view line);
    void note(const Runner& runner, Error error);

    std::vector<Runner> runners_{};
    json order_;
    std::chrono::milliseconds deadline_;
    ProbeWorld world_{};
    std::optional<json> id_{};
    std::size_t streams_ = 0; // that have not ended
    bool end_now_ = false;
    AsyncEvent changed_, failed_;
    boost::asio::steady_timer linger_;
};

Group::Group(const boost::asio::any_io_executor& executor, std::vector<ProbeNode> nodes, json order,
             std::chrono::milliseconds deadline)
    : order_(std::move(order)), deadline_(deadline), changed_(executor), failed_(executor),
      linger_(executor) {
    for (const auto& node : nodes) {
        runners_.push_back({.node = node, .first_rank = world_.ranks.size(), .running = node.gpus});
        world_.nodes.push_back(node.place);
        for (int local_rank = 0; local_rank < node.gpus; ++local_rank) {
            world_.ranks.push_back({.place = node.place, .local_rank = local_rank});
        }
    }
    world_.rdma.resize(world_.nodes.size());
}

void Group::note(const Runner& runner, Error error) {
    error.where = runner.node.node->name.str();
    if (world_.errors.size() < most_errors_of_each_node * runners_.size()) {
        world_.errors.push_back(std::move(error));
    }
    failed_.set();
}

Task<bool> Group::open(Runner& runner) {
    ExecConfig config;
    config.command = {layout::init, "with-environment", "--", layout::init, "probe"};
    config.user = "0:0";
    auto started = co_await start_command(*runner.node.engine, runner.node.node->id, std::move(config));
    if (!started) {
        note(runner, started.error());
        co_return false;
    }
    runner.lines = std::make_unique<ExecLines>(std::move(*started));
    ++streams_;
    co_return true;
}

void Group::take_line(Runner& runner, std::string_view line) {
    auto message = wire::parse_probe_message(line);
    if (!message || (!message->rdma && message->local_rank >= runner.node.gpus)) {
        note(runner, message
                         ? Error{ErrorKind::protocol, "", "the node reported a probe that nobody started", ""}
                         : message.error());
        return;
    }
    if (message->rdma) {
        world_.rdma[static_cast<std::size_t>(&runner - runners_.data())] = std::move(*message->rdma);
        return;
    }
    const auto rank = runner.first_rank + static_cast<std::size_t>(message->local_rank);
    auto& told = world_.ranks[rank];
    if (message->end) {
        if (!std::exchange(told.end, message->end)) {
            --runner.running;
        }
        if (failed(*told.end)) {
            failed_.set();
        }
        changed_.notify();
        return;
    }
    const auto kind = message->line->find("type");
    if (kind == message->line->end() || !kind->is_string()) {
        return;
    }
    const auto& type = kind->get_ref<const std::string&>();
    if (type == "id" && rank == 0) {
        id_ = message->line->value("id", json());
        changed_.notify();
    } else if (type == "device") {
        told.device = std::move(*message->line);
    } else if (type == "measurement" && told.measurements.size() == most_measurements) {
        note(runner, {ErrorKind::protocol, "", "the node reports more measurements than were asked for", ""});
    } else if (type == "measurement") {
        told.measurements.push_back(std::move(*message->line));
    } else if (type == "result") {
        told.result = std::move(*message->line);
    }
}

Task<bool> Group::hear(Runner& runner) {
    while (true) {
        const auto line = co_await runner.lines->next_line();
        if (!line) {
            note(runner, line.error());
            break;
        }
        if (!*line) {
            if (runner.running > 0) {
                const auto said = printable(runner.lines->err());
                note(runner,
                     {ErrorKind::node, "", "the node ended the probes" + (said.empty() ? "" : ": " + said),
                      "run `dockdist up`: the node's toolkit may be of another version"});
            }
            break;
        }
        take_line(runner, **line);
    }
    --streams_;
    changed_.notify();
    co_return true;
}

// A failed write is no news: the stream's reader finds its end.
Task<void> Group::tell(Runner& runner, int local_rank, json line) {
    if (!runner.closed) {
        (void)co_await runner.lines->write(wire::probe_line(local_rank, std::move(line)));
    }
}

Task<void> Group::give_orders() {
    for (auto& runner : runners_) {
        for (int local_rank = 0; local_rank < runner.node.gpus; ++local_rank) {
            auto order = order_;
            order["rank"] = runner.first_rank + static_cast<std::size_t>(local_rank);
            order["world_size"] = world_.ranks.size();
            order["device"] = local_rank;
            order["deadline_ms"] = deadline_.count();
            co_await tell(runner, local_rank, std::move(order));
        }
    }
}

// The one who writes: the orders, the id, and the end of each node's stdin.
Task<bool> Group::conduct() {
    co_await give_orders();
    bool id_told = false;
    while (streams_ > 0) {
        if (id_ && !id_told) {
            id_told = true;
            for (auto& runner : runners_) {
                for (int local_rank = 0; local_rank < runner.node.gpus; ++local_rank) {
                    if (runner.first_rank != 0 || local_rank != 0) {
                        co_await tell(runner, local_rank, json{{"id", *id_}});
                    }
                }
            }
            continue;
        }
        bool closed_one = false;
        for (auto& runner : runners_) {
            if (!runner.closed && (end_now_ || runner.running == 0)) {
                runner.closed = true;
                closed_one = true;
                (void)co_await runner.lines->close_input();
            }
        }
        if (!closed_one && streams_ > 0) {
            co_await changed_.wait_for_change();
        }
    }
    linger_.cancel();
    end_now_ = true;
    failed_.set();
    co_return true;
}

Task<bool> Group::end_after_failure() {
    co_await failed_.wait();
    if (!end_now_) {
        linger_.expires_after(last_words);
        boost::system::error_code ignored;
        co_await linger_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
        end_now_ = true;
        changed_.notify();
    }
    co_return true;
}

Task<Status> Group::run() {
    std::vector<Task<bool>> opening;
    for (auto& runner : runners_) {
        opening.push_back(open(runner));
    }
    const auto opened = co_await run_all(std::move(opening));
    if (std::ranges::find(opened, false) != opened.end()) {
        co_return ok; // the streams that are open end with this object
    }
    std::vector<Task<bool>> parts;
    for (auto& runner : runners_) {
        parts.push_back(hear(runner));
    }
    parts.push_back(conduct());
    parts.push_back(end_after_failure());
    co_await run_all(std::move(parts));
    co_return ok;
}

} // namespace

bool ProbeWorld::complete() const {
    return errors.empty() &&
           std::ranges::all_of(ranks, [](const ProbeRank& rank) { return rank.end && !failed(*rank.end); });
}

Task<ProbeWorld> run_probes(std::vector<ProbeNode> nodes, json order, std::chrono::milliseconds deadline) {
    const auto executor = co_await boost::asio::this_coro::executor;
    Group group(executor, std::move(nodes), std::move(order), deadline);
    const Error late{ErrorKind::timeout, "", "the probes had not ended a while after their deadline",
                     "is a node unreachable, or a GPU's driver hanging (`dmesg` on the hosts: Xid)?"};
    const auto done = co_await with_timeout(group.run(), deadline + patience, late);
    auto world = group.take();
    if (!done) {
        world.errors.push_back(done.error());
    }
    co_return world;
}

} // namespace dockdist
