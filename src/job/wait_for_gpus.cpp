#include "job/wait_for_gpus.hpp"

#include "async/async_event.hpp"
#include "async/pause.hpp"
#include "async/run_all.hpp"
#include "async/with_watch.hpp"
#include "core/units.hpp"
#include "job/gpu_line.hpp"
#include "job/order_queue.hpp"

#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

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

class GpuWaiter {
public:
    GpuWaiter(const boost::asio::any_io_executor& executor, OpenedJob& opened, const JobOptions& options,
              Reporter& reporter)
        : opened_(opened), options_(options), reporter_(reporter), changed_(executor), ordered_(executor),
          line_(turns_in(opened)), heard_at_(opened.parts.size(), Clock::now()) {
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
        auto turns = line_.turns();
        for (std::size_t i = 0; i < turns.size(); ++i) {
            opened_.facts[i].gpus = std::move(turns[i]);
        }
        co_return taken;
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
            tasks.push_back(hear(i));
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
                failure_ = heard.error();
                failure_->where = part.node().name.str();
                changed_.set();
                co_return ok;
            }
        }
        co_return ok;
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
            opened_.parts[part]->set_place(line_.number());
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
                    limit->count() > 0 ? "within " + format_exact_duration(*options_.wait) : "");
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
        for (std::size_t i = 0; i < turns.size(); ++i) {
            const auto passed =
                std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - heard_at_[i]).count();
            for (auto& hold : turns[i].held) {
                hold.by.age_s = std::min(hold.by.age_s, oldest_s) + passed;
            }
            nodes.push_back({.node = opened_.parts[i]->node().name, .turn = std::move(turns[i])});
        }
        return nodes;
    }

    void tell() {
        const auto nodes = turns_now();
        const auto lead = "waiting for " + wanted_text(nodes) + ": ";
        auto same = lead + obstacles_text(nodes, options_.cluster, Ages::without);
        const bool changed = same != waiting_for_;
        waiting_for_ = std::move(same);
        reporter_.on({.kind = changed ? Event::Kind::waiting : Event::Kind::still_waiting,
                      .text = lead + obstacles_text(nodes, options_.cluster)});
    }

    void warn_of_left_out() {
        const auto turns = line_.turns();
        for (std::size_t i = 0; i < turns.size(); ++i) {
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
    if (!old || !options.ask_old_nodes) {
        co_return co_await waiter.wait();
    }
    co_return co_await with_watch(waiter.wait(), waiter.follow_old_nodes());
}

std::vector<NodeTurn> turns_of(const OpenedJob& opened) {
    std::vector<NodeTurn> nodes;
    for (std::size_t i = 0; i < opened.parts.size(); ++i) {
        nodes.push_back({.node = opened.parts[i]->node().name, .turn = opened.facts[i].gpus});
    }
    return nodes;
}

} // namespace dockdist
