#include "job/follow_job.hpp"

#include "async/async_event.hpp"
#include "async/run_all.hpp"
#include "async/with_timeout.hpp"
#include "core/text.hpp"
#include "engine/exec_command.hpp"
#include "job/job_report.hpp"
#include "wire/frame.hpp"
#include "wire/layout.hpp"

#include <boost/asio/this_coro.hpp>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto between_pings = 1s; // the shortest lease that is of use is not known here
constexpr auto longest_write = 5s;
constexpr auto after_grace = 30s; // until a node that says nothing about a stop counts as gone

class JobFollower {
public:
    JobFollower(const boost::asio::any_io_executor& executor, FollowOptions options, JobSink& sink)
        : options_(std::move(options)), sink_(sink), ended_(executor) {}

    Task<JobOutcome> run(const Engines& engines, const KnownJob& job) {
        options_.query.job = job.job.str();
        std::vector<Task<Status>> tasks;
        for (const auto& part : job.parts) {
            nodes_.push_back({.node = part.node.name});
            wire::JobOpening opening;
            opening.job = job.job.str();
            parts_.push_back(
                std::make_unique<NodeJob>(*engines[part.node.host], part.node, std::move(opening)));
        }
        running_ = parts_.size();
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            tasks.push_back(follow(i));
        }
        if (options_.hold) {
            tasks.push_back(keep_lease());
        }
        co_await run_all(std::move(tasks));
        sink_.flush();
        co_return outcome_of(std::move(nodes_), std::move(errors_));
    }

private:
    Task<Status> follow(std::size_t index) {
        const auto name = parts_[index]->node().name;
        NodeJob::Handlers handlers{
            .output = [this, name](int rank, StdStream stream,
                                   std::string_view bytes) { sink_.output(name, rank, stream, bytes); },
            .rank_failed = [](const wire::RankFailure&) {},
            .batch_ended = [this] { sink_.flush(); },
            .room = [this] { return sink_.room(); }};
        auto result = co_await parts_[index]->follow(options_.query, std::move(handlers));
        if (!result) {
            auto error = result.error();
            error.where = name.str();
            errors_.push_back(std::move(error));
        } else {
            nodes_[index].result = std::move(*result);
        }
        if (--running_ == 0) {
            ended_.set();
        }
        co_return ok;
    }

    Task<Status> keep_lease() {
        while (running_ > 0) {
            std::vector<Task<Result<Ok>>> sends;
            for (auto& part : parts_) {
                sends.push_back(with_timeout(ping(*part), longest_write, Error{.kind = ErrorKind::timeout}));
            }
            co_await run_all(std::move(sends));
            (void)co_await with_timeout(wait_for_the_end(), between_pings, Error{.kind = ErrorKind::timeout});
        }
        co_return ok;
    }

    Task<Status> wait_for_the_end() {
        co_await ended_.wait();
        co_return ok;
    }

    static Task<Status> ping(NodeJob& part) {
        co_await part.send({.type = wire::JobCommand::Type::ping});
        co_return ok;
    }

    FollowOptions options_;
    JobSink& sink_;
    AsyncEvent ended_;
    std::vector<std::unique_ptr<NodeJob>> parts_{};
    std::vector<NodeOutcome> nodes_{};
    Errors errors_{};
    std::size_t running_ = 0;
};

Task<Result<wire::JobResult>> stop_part(ContainerEngine& engine, ContainerId id, wire::JobQuery query) {
    ExecConfig config;
    config.command = {layout::init, "job", "stop", wire::job_query(query)};
    config.user = "0:0";
    const auto answer = co_await run_command(engine, id, std::move(config));
    if (!answer) {
        co_return answer.error();
    }
    wire::FrameDecoder decoder;
    decoder.feed(answer->out);
    for (auto frame = decoder.next(); frame && *frame; frame = decoder.next()) {
        auto event = wire::parse_job_event((*frame)->payload);
        if (event && event->type == wire::JobEvent::Type::exited) {
            co_return std::move(event->result);
        }
        if (event && event->type == wire::JobEvent::Type::error) {
            co_return event->error;
        }
    }
    co_return Error{ErrorKind::node, "",
                    "the node does not say that the job has ended: " + printable(answer->err),
                    "try again; `dockdist down` ends the container"};
}

} // namespace

Task<JobOutcome> follow_job(const Engines& engines, const KnownJob& job, FollowOptions options,
                            JobSink& sink) {
    JobFollower follower(co_await boost::asio::this_coro::executor, std::move(options), sink);
    co_return co_await follower.run(engines, job);
}

Task<std::vector<Result<wire::JobResult>>> stop_job(const Engines& engines,
                                                    const std::vector<ReadyNode>& nodes, const JobId& job,
                                                    std::chrono::milliseconds grace) {
    wire::JobQuery query;
    query.job = job.str();
    query.grace_ms = grace.count();
    std::vector<Task<Result<wire::JobResult>>> tasks;
    for (const auto& node : nodes) {
        tasks.push_back(
            with_timeout(stop_part(*engines[node.host], node.id, query), grace + after_grace,
                         Error{ErrorKind::timeout, "", "the node does not say that the job has ended",
                               "try again; `dockdist down` ends the container"}));
    }
    auto results = co_await run_all(std::move(tasks));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!results[i]) {
            auto error = results[i].error();
            error.where = nodes[i].name.str();
            results[i] = std::move(error);
        }
    }
    co_return results;
}

} // namespace dockdist
