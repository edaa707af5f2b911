#include "client/job/follow_job.hpp"

#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/exec_command.hpp"
#include "client/observe/node_command.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/frame.hpp"

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto after_grace = 30s; // until a node that says nothing about a stop counts as gone

class JobFollower {
public:
    JobFollower(wire::JobQuery query, JobSink& sink) : query_(std::move(query)), sink_(sink) {}

    Task<JobOutcome> run(const Engines& engines, const KnownJob& job) {
        query_.job = job.job.str();
        std::vector<Task<Status>> tasks;
        for (const auto& part : job.parts) {
            nodes_.push_back({.node = part.node.name});
            wire::JobOpening opening;
            opening.job = job.job.str();
            parts_.push_back(
                std::make_unique<NodeJob>(*engines[part.node.host], part.node, std::move(opening)));
        }
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            tasks.push_back(follow(i));
        }
        co_await run_all(std::move(tasks));
        sink_.flush();
        auto outcome = outcome_of(std::move(nodes_), std::move(errors_));
        outcome.command_ranks = wire::command_ranks(latest_of(job).policy);
        co_return outcome;
    }

private:
    Task<Status> follow(std::size_t index) {
        const auto name = parts_[index]->node().name;
        NodeJob::Handlers handlers{
            .output = [this, name](int rank, StdStream stream,
                                   std::string_view bytes) { sink_.output(name, rank, stream, bytes); },
            .batch_ended = [this] { sink_.flush(); },
            .room = [this] { return sink_.room(); }};
        auto result = co_await parts_[index]->follow(query_, std::move(handlers));
        if (!result) {
            auto error = result.error();
            error.where = name.str();
            errors_.push_back(std::move(error));
        } else {
            nodes_[index].result = std::move(*result);
        }
        co_return ok;
    }

    wire::JobQuery query_;
    JobSink& sink_;
    std::vector<std::unique_ptr<NodeJob>> parts_{};
    std::vector<NodeOutcome> nodes_{};
    Errors errors_{};
};

Task<Result<wire::JobResult>> stop_part(ContainerEngine& engine, ContainerId id, wire::JobQuery query) {
    const auto answer =
        co_await run_command(engine, id, node_command({"job", "stop", wire::job_query(query)}));
    CO_TRY(answer);
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

Task<JobOutcome> follow_job(const Engines& engines, const KnownJob& job, wire::JobQuery query,
                            JobSink& sink) {
    JobFollower follower(std::move(query), sink);
    co_return co_await follower.run(engines, job);
}

Task<std::vector<Result<wire::JobResult>>> stop_job(const Engines& engines,
                                                    const std::vector<ReadyNode>& nodes, const JobId& job,
                                                    std::chrono::milliseconds grace, int signal) {
    wire::JobQuery query;
    query.job = job.str();
    query.grace_ms = grace.count();
    query.signal = signal;
    std::vector<Task<Result<wire::JobResult>>> tasks;
    for (const auto& node : nodes) {
        tasks.push_back(
            with_timeout(stop_part(*engines[node.host], node.id, query), grace + after_grace,
                         Error{ErrorKind::timeout, "", "the node does not say that the job has ended",
                               "try again; `dockdist down` ends the container"}));
    }
    auto results = co_await run_all(std::move(tasks));
    name_nodes(results, nodes);
    co_return results;
}

} // namespace dockdist
