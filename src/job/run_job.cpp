#include "job/run_job.hpp"

#include "async/async_event.hpp"
#include "async/interrupts.hpp"
#include "async/run_all.hpp"
#include "async/with_timeout.hpp"
#include "job/job_report.hpp"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

class JobRunner {
public:
    JobRunner(const boost::asio::any_io_executor& executor, const JobOptions& options, Interrupts& interrupts,
              JobSink& sink, Reporter& reporter)
        : options_(options), interrupts_(interrupts), sink_(sink), reporter_(reporter), changed_(executor) {}

    void add(std::unique_ptr<NodeJob> part, NodeLaunch launch) {
        outcome_.nodes.push_back({.node = part->node().name});
        leaders_ += launch.supports ? 0 : 1;
        parts_.push_back(std::move(part));
        launches_.push_back(std::move(launch));
    }

    Task<JobOutcome> run() {
        running_ = parts_.size();
        auto previous = interrupts_.handle_with([this] { changed_.notify(); });
        std::vector<Task<Status>> tasks;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            tasks.push_back(run_part(i));
        }
        tasks.push_back(watch());
        co_await run_all(std::move(tasks));
        interrupts_.handle_with(std::move(previous));
        sink_.flush();
        outcome_.interrupted = interrupts_.count() > 0;
        if (outcome_.first_failure) {
            outcome_.exit_code = outcome_.first_failure->failure.code;
            outcome_.stop_reason.clear();
        } else if (!outcome_.stop_reason.empty()) {
            outcome_.exit_code = timeout_code;
        } else if (!outcome_.interrupted && outcome_.errors.empty()) {
            check_that_ranks_have_begun();
        }
        co_return std::move(outcome_);
    }

private:
    Task<Status> run_part(std::size_t index) {
        auto& part = *parts_[index];
        auto& launch = launches_[index];
        auto result = co_await part.run(std::move(launch.start), handlers_of(part.node().name));
        if (!result) {
            auto error = result.error();
            error.where = part.node().name.str();
            outcome_.errors.push_back(std::move(error));
            stop_wanted_ = true;
        } else {
            const bool time_is_over = result->stopped && result->reason == "timeout";
            if (time_is_over) { // the others have clocks of their own
                outcome_.stop_reason = result->reason;
            }
            const bool our_doing = time_is_over || (result->stopped && (stop_wanted_ || leaders_ == 0));
            if ((result->code != 0 && !our_doing) || !result->failures.empty()) {
                fail({part.node().name, result->failures.empty() ? wire::RankFailure{.code = result->code,
                                                                                     .signal = result->signal}
                                                                 : result->failures.front()});
            }
            outcome_.nodes[index].result = std::move(*result);
        }
        --running_;
        leaders_ -= launch.supports ? 0 : 1;
        changed_.notify();
        co_return ok;
    }

    NodeJob::Handlers handlers_of(const NodeName& name) {
        return {.output = [this, name](int rank, StdStream stream,
                                       std::string_view bytes) { sink_.output(name, rank, stream, bytes); },
                .rank_failed = [this, name](const wire::RankFailure& failure) { fail({name, failure}); },
                .batch_ended = [this] { sink_.flush(); },
                .room = [this] { return sink_.room(); }};
    }

    // Launchers that reach other nodes by ssh are known to end with 0 where they could not start a thing.
    void check_that_ranks_have_begun() {
        int wanted = 0;
        int begun = 0;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            wanted += launches_[i].ranks;
            begun += outcome_.nodes[i].result->ranks;
        }
        if (begun < wanted) {
            outcome_.errors.push_back(
                {ErrorKind::job, "",
                 fmt::format("the launcher ended with 0, and has started {} of {} ranks", begun, wanted),
                 "its own lines above say why"});
        }
    }

    void fail(JobFailure failure) {
        if (outcome_.first_failure && explains(failure.failure, outcome_.first_failure->failure)) {
            outcome_.first_failure = std::move(failure);
            return;
        }
        if (!outcome_.first_failure && !stop_wanted_ && interrupts_.count() == 0) {
            reporter_.on({.kind = Event::Kind::warning,
                          .subject = failure.node.str(),
                          .text = failure.failure.rank < 0
                                      ? fmt::format("ended with {}: the job is stopped everywhere",
                                                    failure.failure.code)
                                      : fmt::format("rank {} ended with {}: the job is stopped everywhere",
                                                    failure.failure.rank, failure.failure.code)});
            outcome_.first_failure = std::move(failure);
            stop_wanted_ = true;
            changed_.notify();
        }
    }

    // Keeps the lease alive, and tells every node to stop when that is called for: once for a failure, once
    // for each interrupt.
    Task<Status> watch() {
        const auto between_pings =
            options_.lease.count() > 0 ? std::min<std::chrono::milliseconds>(options_.lease / 4, 5s) : 5s;
        int stops_sent = 0;
        while (running_ > 0) {
            const int interrupts = interrupts_.count();
            const int wanted =
                interrupts >= 2 ? 2 : (interrupts == 1 || stop_wanted_ || leaders_ == 0 ? 1 : 0);
            if (wanted > stops_sent) {
                if (interrupts > 0) {
                    reporter_.on({.kind = Event::Kind::note,
                                  .text = wanted == 1 ? "stopping the job (Ctrl-C again: at once)"
                                                      : "ending the job at once"});
                }
                stops_sent = wanted;
                co_await send_all({.type = wire::JobCommand::Type::stop,
                                   .grace_ms = wanted == 2 ? 0 : options_.grace.count()});
                continue;
            }
            const auto change =
                co_await with_timeout(wait_for_change(), between_pings, Error{.kind = ErrorKind::timeout});
            if (!change) {
                co_await send_all({.type = wire::JobCommand::Type::ping});
            }
        }
        co_return ok;
    }

    Task<Status> wait_for_change() {
        co_await changed_.wait_for_change();
        co_return ok;
    }

    Task<void> send_all(wire::JobCommand command) {
        std::vector<Task<Result<Ok>>> sends;
        for (auto& part : parts_) {
            sends.push_back(with_timeout(send(*part, command), 5s, Error{.kind = ErrorKind::timeout}));
        }
        co_await run_all(std::move(sends));
    }

    static Task<Status> send(NodeJob& part, wire::JobCommand command) {
        co_await part.send(command);
        co_return ok;
    }

    const JobOptions& options_;
    Interrupts& interrupts_;
    JobSink& sink_;
    Reporter& reporter_;
    AsyncEvent changed_;
    std::vector<std::unique_ptr<NodeJob>> parts_{};
    std::vector<NodeLaunch> launches_{};
    JobOutcome outcome_{};
    std::size_t running_ = 0;
    int leaders_ = 0; // of those that run, the ones that do not only support others
    bool stop_wanted_ = false;
};

} // namespace

Task<OpenedJob> open_job(const Engines& engines, const std::vector<ReadyNode>& nodes,
                         const JobOptions& options, std::vector<wire::Question> questions, int ports) {
    wire::JobOpening opening{.job = options.job.str(),
                             .env = options.env,
                             .secrets = options.secrets,
                             .workdir = options.workdir,
                             .user = options.user,
                             .lease_ms = options.lease.count(),
                             .grace_ms = options.grace.count(),
                             .timeout_ms = options.timeout.count(),
                             .log_limit = static_cast<std::int64_t>(options.log_limit.count),
                             .questions = std::move(questions),
                             .ports = ports};
    OpenedJob opened;
    std::vector<Task<Result<wire::NodeFacts>>> tasks;
    for (const auto& node : nodes) {
        opened.parts.push_back(std::make_unique<NodeJob>(*engines[node.host], node, opening));
        opening.ports = 0;
        tasks.push_back(opened.parts.back()->open());
    }
    auto answers = co_await run_all(std::move(tasks));
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i]) {
            opened.facts.push_back(std::move(*answers[i]));
        } else {
            auto error = answers[i].error();
            error.where = nodes[i].name.str();
            opened.errors.push_back(std::move(error));
        }
    }
    co_return opened;
}

Task<JobOutcome> run_job(OpenedJob opened, std::vector<NodeLaunch> launches, const JobOptions& options,
                         Interrupts& interrupts, JobSink& sink, Reporter& reporter) {
    JobRunner runner(co_await boost::asio::this_coro::executor, options, interrupts, sink, reporter);
    for (std::size_t i = 0; i < opened.parts.size(); ++i) {
        runner.add(std::move(opened.parts[i]), std::move(launches[i]));
    }
    co_return co_await runner.run();
}

} // namespace dockdist
