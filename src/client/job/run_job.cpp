#include "client/job/run_job.hpp"

#include "client/async/async_event.hpp"
#include "client/async/interrupts.hpp"
#include "client/async/run_all.hpp"
#include "client/job/order_queue.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/launch/relaunch.hpp"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view own_words = "dockdist: ";   // before what nodes say themselves
constexpr std::chrono::milliseconds longest_end = 10s; // of a part that is told to end at once

class JobRunner {
public:
    // A part runs its launch, or, without one, follows what was started elsewhere.
    struct Part {
        std::unique_ptr<NodeJob> job{}; // null: it was lost before
        std::optional<wire::JobStart> start{};
    };
    struct Settings {
        wire::JobPolicy policy{};
        std::chrono::milliseconds lease = wire::default_lease;
        wire::JobQuery query{}; // of those that follow
        std::chrono::milliseconds tell_ending_after{0};
        bool detach = false;                                  // when all have started
        bool carries = true;                                  // else it only looks on
        std::function<void(const NodeName&)> on_first_node{}; // only of a job with members
    };

    JobRunner(const boost::asio::any_io_executor& executor, std::vector<Part> parts, Settings settings,
              Interrupts* interrupts, JobSink& sink, Reporter& reporter)
        : settings_(std::move(settings)), interrupts_(interrupts), sink_(sink), reporter_(reporter),
          changed_(executor), parts_(std::move(parts)),
          state_(settings_.policy, relaunch, settings_.lease.count()) {
        for (const auto& part : settings_.policy.parts) {
            nodes_.push_back({.node = NodeName(part.node)});
            unstarted_.push_back({.holds = parts_[unstarted_.size()].start.has_value()});
            orders_.push_back(std::make_unique<OrderQueue>(executor, settings_.lease));
        }
    }

    Task<JobOutcome> run() {
        std::function<void()> previous;
        if (interrupts_ != nullptr) {
            previous = interrupts_->handle_with([this] { changed_.set(); });
        }
        std::vector<Task<Status>> tasks;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (parts_[i].job) {
                ++running_;
                tasks.push_back(run_part(i));
                tasks.push_back(orders_[i]->send_to(*parts_[i].job));
            }
        }
        tasks.push_back(watch());
        co_await run_all(std::move(tasks));
        if (interrupts_ != nullptr) {
            interrupts_->handle_with(std::move(previous));
        }
        auto outcome = conclude();
        tell_unstarted(outcome);
        sink_.flush();
        co_return outcome;
    }

private:
    Task<Status> run_part(std::size_t index) {
        auto& part = parts_[index];
        auto& job = *part.job;
        const NodeJob::Handlers handlers = handlers_of(index);
        auto result = part.start ? co_await job.run(std::move(*part.start), handlers)
                                 : co_await job.follow(settings_.query, handlers);
        if (!result) {
            auto error = result.error();
            error.where = job.node().name.str();
            const auto told_until = job.told_until();
            state_.lost(index, error.message,
                        told_until ? std::optional<std::int64_t>(told_until->time_since_epoch().count())
                                   : std::nullopt);
            errors_.push_back(std::move(error));
        } else if (!job.detached()) {
            state_.exited(index, *result);
            nodes_[index].result = std::move(*result);
        }
        --running_;
        orders_[index]->close();
        changed_.set();
        co_return ok;
    }

    void order(const std::vector<JobStateMachine::Order>& orders) {
        using Type = wire::JobCommand::Type;
        for (const auto& [part, command] : orders) {
            ends_ = command.type != Type::begin &&
                    (ends_ || command.type == Type::stop || command.type == Type::halt);
            orders_[part]->add(command);
        }
    }

    NodeJob::Handlers handlers_of(std::size_t index) {
        return {.output = [this, index](int rank, StdStream stream,
                                        std::string_view bytes) { take_output(index, rank, stream, bytes); },
                .event = [this, index](const wire::JobEvent& event) { hear(index, event); },
                .batch_ended = [this] { sink_.flush(); },
                .room = [this] { return sink_.room(); },
                .silence = longest_silence(settings_.lease)};
    }

    // A launcher that has failed itself, and dockdist, say why.
    void take_output(std::size_t index, int rank, StdStream stream, std::string_view bytes) {
        auto& unstarted = unstarted_[index];
        if (unstarted.holds && rank < 0 && bytes.starts_with(own_words)) {
            unstarted.said += bytes;
            return;
        }
        const auto& part = settings_.policy.parts[index];
        const auto& failure = state_.first_failure();
        const bool launchers = rank < 0 && (part.ranks > 0 || part.hosts_remote_ranks);
        const bool own_failure = failure && failure->rank < 0 && failure->node == part.node;
        if (ends_ && launchers && !own_failure && !bytes.starts_with(own_words)) {
            return sink_.aside(nodes_[index].node, stream, bytes);
        }
        sink_.output(nodes_[index].node, rank, stream, bytes);
    }

    // What the node says in place of a command that does not start. The failure that is told in the end has
    // it, and that of many nodes is the same.
    void tell_unstarted(const JobOutcome& outcome) {
        for (std::size_t i = 0; i < unstarted_.size(); ++i) {
            const auto& said = unstarted_[i].said;
            if (!said.empty() && !(outcome.first_failure && tells(*outcome.first_failure, said))) {
                sink_.output(outcome.nodes[i].node, -1, StdStream::err, said);
            }
        }
    }

    static bool tells(const wire::JobFailure& failure, const std::string& said) {
        return said == std::string(own_words) + failure.cause + "\n" ||
               failure.tail.find(said) != std::string::npos;
    }

    void hear(std::size_t index, const wire::JobEvent& event) {
        if (event.type == wire::JobEvent::Type::started && std::exchange(unstarted_[index].holds, false) &&
            !unstarted_[index].said.empty()) {
            sink_.output(nodes_[index].node, -1, StdStream::err, std::exchange(unstarted_[index].said, {}));
        }
        ends_ = ends_ || (event.type == wire::JobEvent::Type::rank_failed && event.failure.rank >= 0);
        state_.hear(index, event);
        changed_.set();
    }

    // Orders what the policy decides.
    Task<Status> watch() {
        while (running_ > 0) {
            changed_.reset(); // what happens from here on is looked at in the next round
            take_interrupts();
            const auto orders =
                settings_.carries ? state_.decide(lease_clock_ms()) : std::vector<JobStateMachine::Order>();
            if (settings_.carries) {
                tell_notices();
                tell_first_node();
            }
            if (!orders.empty()) {
                order(orders);
                continue;
            }
            if (wants_to_detach()) {
                detach_sent_ = true;
                for (std::size_t i = 0; i < parts_.size(); ++i) {
                    order({{i, {.type = wire::JobCommand::Type::detach}}});
                }
            }
            // Who only looks on decides nothing, and would be woken for it again and again.
            if (const auto wake = wake_at_ms()) {
                co_await changed_.wait_at_most(
                    std::chrono::milliseconds(std::max<std::int64_t>(*wake - lease_clock_ms(), 0)));
            } else {
                co_await changed_.wait();
            }
        }
        co_return ok;
    }

    std::optional<std::int64_t> wake_at_ms() const {
        const auto wake = settings_.carries ? state_.wake_at_ms() : std::nullopt;
        return ending_ ? std::min(wake.value_or(tell_ending_at_ms_), tell_ending_at_ms_) : wake;
    }

    void take_interrupts() {
        for (; interrupts_ != nullptr && interrupts_seen_ < interrupts_->count(); ++interrupts_seen_) {
            state_.interrupted();
            if (interrupts_seen_ < 2) {
                reporter_.on({.kind = Event::Kind::note,
                              .text = interrupts_seen_ == 1 ? "ending the job at once"
                                      : interrupts_->time_is_over()
                                          ? "the allocation's time is nearly over: stopping the job"
                                          : "stopping the job (Ctrl-C again: at once)"});
            }
            if (interrupts_seen_ == 1) { // a part whose node does not obey ends by its lease, without us
                for (const auto& part : parts_) { // of a job that it has started itself: all are there
                    part.job->give_up_at(LeaseClock::now() + longest_end);
                }
            }
        }
    }

    // "node-1 (10.0.0.2): lost: …: attempt 2 of 4 begins without it on 3 nodes in 1 s".
    void tell_notices() {
        for (auto& notice : state_.take_notices()) {
            if (notice.kind == JobStateMachine::Notice::Kind::ending) {
                tell_ending_at_ms_ = lease_clock_ms() + settings_.tell_ending_after.count();
                ending_ = std::move(notice);
            } else {
                tell(notice);
            }
        }
        if (ending_ && lease_clock_ms() >= tell_ending_at_ms_) {
            tell(*std::exchange(ending_, std::nullopt));
        }
    }

    void tell(const JobStateMachine::Notice& notice) {
        const auto part = std::ranges::find_if(
            parts_, [&](const Part& each) { return each.job && each.job->node().name.str() == notice.node; });
        const bool with_address = notice.kind == JobStateMachine::Notice::Kind::lost && part != parts_.end();
        const bool ready = notice.kind == JobStateMachine::Notice::Kind::ready;
        reporter_.on({.kind = ready ? Event::Kind::note : Event::Kind::warning,
                      .phase = ready ? "ready" : "",
                      .subject = with_address
                                     ? fmt::format("{} ({})", notice.node, part->job->node().record.address)
                                     : notice.node,
                      .text = notice.text});
    }

    void tell_first_node() {
        const auto& members = state_.settings().members;
        if (settings_.on_first_node && std::exchange(first_, members.front()) != members.front()) {
            settings_.on_first_node(parts_[static_cast<std::size_t>(first_)].job->node().name);
        }
    }

    bool wants_to_detach() const {
        const bool served = settings_.policy.ready.empty() || !state_.ready_at().empty();
        return !detach_sent_ && state_.all_started() && interrupts_seen_ == 0 &&
               ((settings_.detach && served) || (interrupts_ != nullptr && interrupts_->wants_to_let_go()));
    }

    JobOutcome conclude() {
        bool detached = false;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            detached = detached || (parts_[i].job && parts_[i].job->detached());
            if (settings_.carries) { // else those that carry it say so in their results
                nodes_[i].left_out = state_.settings().parts[i].lost;
                nodes_[i].spare = state_.is_spare(i);
            }
        }
        auto outcome = settings_.carries ? outcome_of(std::move(nodes_), std::move(errors_), state_, detached)
                                         : outcome_of(std::move(nodes_), std::move(errors_));
        outcome.attempts = state_.attempt() + 1;
        outcome.command_ranks = wire::command_ranks(state_.settings());
        return outcome;
    }

    Settings settings_;
    Interrupts* interrupts_; // null: they are not the job's
    JobSink& sink_;
    Reporter& reporter_;
    AsyncEvent changed_;
    std::vector<Part> parts_;
    std::vector<std::unique_ptr<OrderQueue>> orders_{}; // a part
    JobStateMachine state_;
    std::vector<NodeOutcome> nodes_{};
    struct Unstarted {
        bool holds = true; // its command has not begun yet
        std::string said{};
    };
    std::vector<Unstarted> unstarted_{};              // a part
    std::optional<JobStateMachine::Notice> ending_{}; // not told yet
    std::int64_t tell_ending_at_ms_ = 0;
    Errors errors_{};
    std::size_t running_ = 0;
    int first_ = 0; // the member that is the job's first node
    int interrupts_seen_ = 0;
    bool detach_sent_ = false;
    bool ends_ = false; // this attempt
};

} // namespace

Task<JobOutcome> run_job(OpenedJob opened, std::vector<NodeLaunch> launches, const JobOptions& options,
                         Interrupts& interrupts, JobSink& sink, Reporter& reporter) {
    JobRunner::Settings settings{.policy = {.max_restarts = options.max_restarts,
                                            .backoff_ms = options.backoff.count(),
                                            .grace_ms = options.grace.count(),
                                            .stall_ms = options.stall.count(),
                                            .stop_stalled = options.stop_stalled,
                                            .suspect_ms = options.suspect.count(),
                                            .stop_hung = options.stop_hung,
                                            .idle_ms = options.idle.count(),
                                            .stop_idle = options.stop_idle,
                                            .ranks_first = true,
                                            .ready = options.ready},
                                 .lease = options.lease,
                                 .tell_ending_after = options.tell_ending_after,
                                 .detach = options.detach,
                                 .on_first_node = options.on_first_node};
    for (const auto& part : opened.parts) {
        settings.policy.parts.push_back({.node = part->node().name.str()});
    }
    for (std::size_t i = 0; i < launches.size(); ++i) {
        settings.policy.members.push_back(static_cast<int>(i));
    }
    settings.policy.min_nodes = options.min_nodes;
    settings.policy.relaunch = options.relaunch;
    auto starts = starts_of(settings.policy, std::move(launches));
    settings.policy = starts.front().policy;
    wire::BeforeStart before;
    if (opened.waited) {
        const auto held = LeaseClock::now() - opened.waited->until;
        before = {.waited_ms = opened.waited->time.count(),
                  .held_ms = std::chrono::duration_cast<std::chrono::milliseconds>(held).count()};
    }
    std::vector<JobRunner::Part> parts;
    for (std::size_t i = 0; i < starts.size(); ++i) {
        starts[i].before = before;
        starts[i].stays = starts.size() > 1 || options.max_restarts > 0 || options.stall.count() > 0 ||
                          options.idle.count() > 0 || options.suspect.count() > 0;
        parts.push_back({std::move(opened.parts[i]), std::move(starts[i])});
    }
    JobRunner runner(co_await boost::asio::this_coro::executor, std::move(parts), std::move(settings),
                     &interrupts, sink, reporter);
    auto outcome = co_await runner.run();
    if (outcome.interrupted && interrupts.time_is_over() && !outcome.first_failure) {
        outcome.interrupted = false;
        outcome.stop_reason = "timeout";
        outcome.code = exit_codes::timed_out;
    }
    co_return outcome;
}

Task<JobOutcome> attach_job(const Engines& engines, const KnownJob& job, wire::JobQuery query, JobSink& sink,
                            Reporter& reporter) {
    const auto& known = latest_of(job);
    JobRunner::Settings settings{.policy = known.policy,
                                 .lease = std::chrono::milliseconds(known.lease_ms),
                                 .query = std::move(query)};
    settings.query.job = job.job.str();
    auto known_parts = parts_of(known.policy, job);
    settings.carries = !known.detached && !known_parts.empty();
    if (known_parts.empty()) {
        settings.policy = {};
        for (const auto& part : job.parts) {
            settings.policy.parts.push_back({.node = part.node.name.str()});
            known_parts.push_back(&part);
        }
    }
    std::vector<JobRunner::Part> parts;
    for (const auto* part : known_parts) {
        parts.emplace_back();
        if (part != nullptr) {
            wire::JobOpening opening{.job = job.job.str(), .lease_ms = known.lease_ms};
            parts.back().job =
                std::make_unique<NodeJob>(*engines[part->node.host], part->node, std::move(opening));
        }
    }
    JobRunner runner(co_await boost::asio::this_coro::executor, std::move(parts), std::move(settings),
                     nullptr, sink, reporter);
    co_return co_await runner.run();
}

} // namespace dockdist
