#include "client/job/wait_for_gpus.hpp"

#include "client/async/async_event.hpp"
#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/async/with_watch.hpp"
#include "client/job/gpu_line.hpp"
#include "client/job/order_queue.hpp"
#include "shared/core/lease_clock.hpp"
#include "shared/core/units.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using Clock = LeaseClock;

constexpr auto between_ages = 10s;                                    // how often times are told anew
constexpr auto between_looks = 5s;                                    // at nodes that no board knows of
constexpr std::int64_t oldest_s = std::int64_t{10} * 365 * 24 * 3600; // of what a node tells

std::int64_t milliseconds_of(Clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

std::vector<wire::GpuTurn> turns_in(const OpenedJob& opened) {
    std::vector<wire::GpuTurn> turns;
    for (const auto& facts : opened.facts) {
        turns.push_back(facts.gpus);
    }
    return turns;
}

// However what they are for ends.
class CloseAll {
public:
    explicit CloseAll(const std::vector<std::unique_ptr<OrderQueue>>& queues) : queues_(queues) {}
    ~CloseAll() {
        for (const auto& queue : queues_) {
            queue->close();
        }
    }
    CloseAll(const CloseAll&) = delete;
    CloseAll& operator=(const CloseAll&) = delete;

private:
    const std::vector<std::unique_ptr<OrderQueue>>& queues_;
};

class GpuWaiter {
public:
    GpuWaiter(const boost::asio::any_io_executor& executor, OpenedJob& opened, const JobOptions& options,
              Reporter& reporter)
        : opened_(opened), options_(options), reporter_(reporter), changed_(executor), ordered_(executor),
          line_(turns_in(opened), opened.choice), heard_at_(opened.parts.size(), Clock::now()) {
        for (std::size_t i = 0; i < opened.parts.size(); ++i) {
            orders_.push_back(std::make_unique<OrderQueue>(executor, options.lease));
        }
    }

    Task<Status> wait() {
        warn_of_left_out();
        decide();
        if (line_.taken()) {
            co_return ok;
        }
        const auto taken = co_await with_watch(run_parts(), watch());
        if (!waiting_for_.empty()) {
            reporter_.on(
                {.kind = Event::Kind::waited,
                 .text = "waited",
                 .elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun_)});
        }
        co_return taken;
    }

    // Afterwards: what it has, of the parts that have it; the others are let go.
    void settle() {
        const auto turns = line_.turns();
        const auto now = Clock::now();
        OpenedJob chosen{
            .waited = OpenedJob::Waited{
                .time = std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_), .until = now}};
        for (const auto part : line_.targets()) {
            chosen.parts.push_back(std::move(opened_.parts[part]));
            chosen.facts.push_back(std::move(opened_.facts[part]));
            chosen.facts.back().gpus = turns[part];
        }
        opened_ = std::move(chosen);
    }

    // What jobs in old nodes have, no board tells: where that changes, a part is opened anew.
    Task<Error> follow_old_nodes() {
        auto known = options_.old_holds;
        while (true) {
            co_await pause_for(between_looks);
            const auto now = co_await options_.ask_old_nodes();
            for (const auto& part : opened_.parts) {
                const auto host = part->node().host;
                if (!line_.taken() && names_of(now[host]) != names_of(known[host])) {
                    co_await part->open_anew(now[host]);
                }
            }
            known = now;
        }
    }

private:
    static std::set<std::pair<std::string, std::string>> names_of(const std::vector<wire::GpuHold>& holds) {
        std::set<std::pair<std::string, std::string>> names;
        for (const auto& hold : holds) {
            names.emplace(hold.unit.id, hold.by.job);
        }
        return names;
    }

    Task<Status> run_parts() {
        std::vector<Task<Status>> tasks;
        for (std::size_t i = 0; i < opened_.parts.size(); ++i) {
            tasks.push_back(opened_.choice.seats.empty() ? hear(i) : hear_until_taken(i));
            tasks.push_back(orders_[i]->send_to(*opened_.parts[i]));
        }
        co_await run_all(std::move(tasks));
        co_return ok;
    }

    // A part that has taken is not read on: what it says next belongs to the job that runs.
    Task<Status> hear(std::size_t index) {
        auto& part = *opened_.parts[index];
        while (!line_.taken()) {
            if (!line_.is_heard(index)) {
                co_await ordered_.wait_for_change();
                continue;
            }
            const auto heard = co_await part.hear_turns([this, index](wire::GpuTurn turn, bool reopened) {
                take_in(index, std::move(turn), reopened);
                return line_.is_heard(index);
            });
            if (!heard) {
                auto error = heard.error();
                error.where = part.node().name.str();
                lose(index, std::move(error));
                co_return ok;
            }
        }
        co_return ok;
    }

    // One that is not among those that have taken has something to say for ever.
    Task<Status> hear_until_taken(std::size_t index) {
        (void)co_await with_watch(hear(index), wait_until_taken());
        co_return ok;
    }
    Task<Error> wait_until_taken() {
        while (!line_.taken()) {
            co_await ordered_.wait_for_change();
        }
        co_return Error{};
    }

    void lose(std::size_t index, Error error) {
        if (line_.lost(index)) {
            reporter_.on({.kind = Event::Kind::warning,
                          .subject = error.where,
                          .text = error.message + ": the job goes to other nodes"});
            orders_[index]->close();
            decide();
        } else {
            failure_ = std::move(error);
        }
        changed_.set();
    }

    void take_in(std::size_t index, wire::GpuTurn turn, bool reopened) {
        heard_at_[index] = Clock::now();
        if (reopened) {
            orders_[index]->drop();
            line_.reopened(index, std::move(turn));
        } else {
            line_.hear(index, std::move(turn));
        }
        decide();
        changed_.set();
    }

    void decide() {
        const auto orders = line_.decide(milliseconds_of(Clock::now()));
        for (const auto& [part, command] : orders) {
            if (command.type != wire::JobCommand::Type::take) {
                const bool in_line = command.type == wire::JobCommand::Type::line;
                opened_.parts[part]->set_place(in_line ? command.number : 0);
            }
            orders_[part]->add(command);
        }
        if (line_.taken()) {
            for (const auto& queue : orders_) {
                queue->close();
            }
        }
        if (line_.taken() || !orders.empty()) {
            ordered_.notify();
        }
    }

    // Ends with what ends the wait.
    Task<Error> watch() {
        constexpr std::chrono::milliseconds longest = std::chrono::years(10);
        auto limit = options_.wait;
        if (limit) {
            limit = std::min(*limit, longest);
        }
        while (true) {
            changed_.reset(); // what happens from here on is looked at in the next round
            if (failure_) {
                co_return *failure_;
            }
            decide();
            warn_of_left_out();
            const auto now = Clock::now();
            if (limit && now - begun_ >= *limit && (limit->count() > 0 || line_.has_to_wait())) {
                co_return gpus_taken_error(
                    turns_now(), options_.cluster,
                    limit->count() > 0 ? "within " + format_exact_duration(*options_.wait) : "", among());
            }
            if (line_.has_to_wait()) {
                tell();
            }
            auto wake = now + between_ages;
            if (limit && begun_ + *limit > now) {
                wake = std::min(wake, begun_ + *limit);
            }
            if (const auto at = line_.wake_at_ms()) {
                wake = std::min(wake, now + std::chrono::milliseconds(
                                                std::max<std::int64_t>(*at - milliseconds_of(now), 1)));
            }
            co_await changed_.wait_at_most(wake - now);
        }
    }

    // With ages as they are by now.
    std::vector<NodeTurn> turns_now() const {
        auto turns = line_.turns();
        std::vector<NodeTurn> nodes;
        for (const auto i : line_.targets()) {
            const auto passed =
                std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - heard_at_[i]).count();
            for (auto& hold : turns[i].held) {
                hold.by.age_s = std::min(hold.by.age_s, oldest_s) + passed;
                if (hold.by.left_s > 0) {
                    hold.by.left_s = std::max<std::int64_t>(std::min(hold.by.left_s, oldest_s) - passed, 1);
                }
            }
            nodes.push_back({.node = opened_.parts[i]->node().name, .turn = std::move(turns[i])});
        }
        return nodes;
    }

    std::size_t among() const { return opened_.choice.seats.empty() ? 0 : opened_.parts.size(); }

    void tell() {
        const auto nodes = turns_now();
        const auto lead = "waiting for " + wanted_text(nodes, among()) + ": ";
        auto same = lead + obstacles_text(nodes, options_.cluster, Ages::without);
        const bool changed = same != waiting_for_;
        waiting_for_ = std::move(same);
        reporter_.on({.kind = changed ? Event::Kind::waiting : Event::Kind::still_waiting,
                      .text = lead + obstacles_text(nodes, options_.cluster)});
    }

    void warn_of_left_out() {
        const auto turns = line_.turns();
        for (const auto i : line_.targets()) {
            const auto& node = opened_.parts[i]->node().name.str();
            for (const auto& sentence : turns[i].left_out) {
                if (left_out_.emplace(node, sentence).second) {
                    reporter_.on({.kind = Event::Kind::warning,
                                  .subject = node,
                                  .text = sentence + ": it is not given to jobs"});
                }
            }
        }
    }

    OpenedJob& opened_;
    const JobOptions& options_;
    Reporter& reporter_;
    AsyncEvent changed_;
    AsyncEvent ordered_; // notified
    GpuLine line_;
    Clock::time_point begun_ = Clock::now();
    std::vector<Clock::time_point> heard_at_; // the turn of each part
    std::vector<std::unique_ptr<OrderQueue>> orders_{};
    std::optional<Error> failure_{};
    std::string waiting_for_{}; // as it was told, without ages; empty: nothing was
    std::set<std::pair<std::string, std::string>> left_out_{}; // node and sentence
};

} // namespace

Task<Status> wait_for_gpus(OpenedJob& opened, const JobOptions& options, Reporter& reporter) {
    GpuWaiter waiter(co_await boost::asio::this_coro::executor, opened, options, reporter);
    const bool old = std::ranges::any_of(options.old_holds, [](const auto& holds) { return !holds.empty(); });
    Status waited = ok;
    if (!old || !options.ask_old_nodes) {
        waited = co_await waiter.wait();
    } else {
        waited = co_await with_watch(waiter.wait(), waiter.follow_old_nodes());
    }
    if (waited) {
        waiter.settle();
    }
    co_return waited;
}

Task<Errors> while_open(OpenedJob& opened, std::chrono::milliseconds lease, Task<Errors> task) {
    const auto executor = co_await boost::asio::this_coro::executor;
    Errors errors;
    std::vector<std::unique_ptr<OrderQueue>> pings;
    for (std::size_t i = 0; i < opened.parts.size(); ++i) {
        pings.push_back(std::make_unique<OrderQueue>(executor, lease));
    }
    const auto run = [&]() -> Task<Status> {
        const CloseAll closing(pings);
        errors = co_await std::move(task);
        co_return ok;
    };
    std::vector<Task<Status>> tasks;
    tasks.push_back(run());
    for (std::size_t i = 0; i < opened.parts.size(); ++i) {
        tasks.push_back(pings[i]->send_to(*opened.parts[i]));
    }
    co_await run_all(std::move(tasks));
    co_return errors;
}

std::vector<ReadyNode> nodes_of(const OpenedJob& opened) {
    std::vector<ReadyNode> nodes;
    const GpuLine line(turns_in(opened), opened.choice);
    for (const auto part : line.targets()) {
        nodes.push_back(opened.parts[part]->node());
    }
    return nodes;
}

std::vector<wire::LaunchFacts> facts_of(const OpenedJob& opened) {
    std::vector<wire::LaunchFacts> facts;
    const GpuLine line(turns_in(opened), opened.choice);
    for (const auto part : line.targets()) {
        facts.push_back(opened.facts[part]);
    }
    return facts;
}

std::vector<NodeTurn> turns_of(const OpenedJob& opened) {
    std::vector<NodeTurn> nodes;
    for (std::size_t i = 0; i < opened.parts.size(); ++i) {
        nodes.push_back({.node = opened.parts[i]->node().name, .turn = opened.facts[i].gpus});
    }
    return nodes;
}

} // namespace dockdist
