#include "job/run_job.hpp"

#include "async/async_event.hpp"
#include "async/interrupts.hpp"
#include "async/run_all.hpp"
#include "async/with_timeout.hpp"
#include "job/node_job.hpp"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

class JobRunner {
public:
    JobRunner(const boost::asio::any_io_executor& executor, const JobOptions& options, Interrupts& interrupts,
              JobSink& sink, Reporter& reporter)
        : options_(options), interrupts_(interrupts), sink_(sink), reporter_(reporter), changed_(executor) {}

    void add(ContainerEngine& engine, ReadyNode node, const NodeLaunch& launch) {
        wire::JobRequest request;
        request.job = options_.job.str();
        request.argv = launch.argv;
        request.env = launch.env;
        request.files = launch.files;
        request.workdir = options_.workdir;
        request.user = options_.user;
        request.ranks = launch.ranks;
        request.first_rank = launch.first_rank;
        request.lease_ms = options_.lease.count();
        request.grace_ms = options_.grace.count();
        NodeJob::Handlers handlers;
        handlers.output = [this, name = node.name](int rank, StdStream stream, std::string_view bytes) {
            sink_.output(name, rank, stream, bytes);
        };
        handlers.rank_failed = [this, name = node.name](const wire::RankFailure& failure) {
            fail({name, failure});
        };
        outcome_.nodes.push_back({.node = node.name});
        handlers.batch_ended = [this] { sink_.flush(); };
        parts_.push_back(
            std::make_unique<NodeJob>(engine, std::move(node), std::move(request), std::move(handlers)));
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
        }
        co_return std::move(outcome_);
    }

private:
    Task<Status> run_part(std::size_t index) {
        auto& part = *parts_[index];
        auto result = co_await part.run();
        if (!result) {
            auto error = result.error();
            error.where = part.node().name.str();
            outcome_.errors.push_back(std::move(error));
            stop_wanted_ = true;
        } else {
            if (result->code != 0 && !outcome_.first_failure && !stop_wanted_ && interrupts_.count() == 0) {
                fail({part.node().name, result->failures.empty() ? wire::RankFailure{.code = result->code,
                                                                                     .signal = result->signal}
                                                                 : result->failures.front()});
            }
            outcome_.nodes[index].result = std::move(*result);
        }
        --running_;
        changed_.notify();
        co_return ok;
    }

    void fail(JobFailure failure) {
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
        int stops_sent = 0;
        while (running_ > 0) {
            const int interrupts = interrupts_.count();
            const int wanted = interrupts >= 2 ? 2 : (interrupts == 1 || stop_wanted_ ? 1 : 0);
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
                co_await with_timeout(wait_for_change(), 5s, Error{.kind = ErrorKind::timeout});
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
    JobOutcome outcome_{};
    std::size_t running_ = 0;
    bool stop_wanted_ = false;
};

} // namespace

Task<JobOutcome> run_job(const Engines& engines, std::vector<ReadyNode> nodes,
                         std::vector<NodeLaunch> launches, const JobOptions& options, Interrupts& interrupts,
                         JobSink& sink, Reporter& reporter) {
    JobRunner runner(co_await boost::asio::this_coro::executor, options, interrupts, sink, reporter);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!launches[i].argv.empty()) {
            const auto host = nodes[i].host;
            runner.add(*engines[host], std::move(nodes[i]), launches[i]);
        }
    }
    co_return co_await runner.run();
}

} // namespace dockdist
