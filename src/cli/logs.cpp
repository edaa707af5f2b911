#include "async/run_all.hpp"
#include "cli/context.hpp"
#include "cli/job_screen.hpp"
#include "core/text.hpp"
#include "job/find_job.hpp"
#include "job/node_job.hpp"

#include <CLI/CLI.hpp>

namespace dockdist {
namespace {

struct Options {
    std::string job{};
    std::string node{};
    bool follow = false;
    bool raw = false;
};

Task<Status> show(NodeJob& part, bool follow, NodeJob::Handlers handlers) {
    const auto result = co_await part.follow(follow, std::move(handlers));
    if (!result) {
        auto error = result.error();
        error.where = part.node().name.str();
        co_return error;
    }
    co_return ok;
}

Task<int> run_logs(Context& context, Options options) {
    auto cluster = co_await attach_to_cluster(context);
    if (!cluster.errors.empty()) {
        co_return context.fail(cluster.errors);
    }
    auto nodes = cluster.nodes;
    if (!options.node.empty()) {
        auto node = find_node(nodes, options.node);
        if (!node) {
            co_return context.fail(node.error());
        }
        nodes = {*node};
    }
    const auto found = co_await find_job(cluster.engines, nodes, JobId(options.job));
    if (!found) {
        co_return context.fail(found.error());
    }
    FdSink sink;
    auto output = probe_job_output();
    output.raw = options.raw;
    JobScreen screen(output, sink);
    std::vector<std::unique_ptr<NodeJob>> parts;
    std::vector<Task<Status>> tasks;
    for (const auto& node : found->nodes) {
        wire::JobOpening job;
        job.job = found->job.str();
        NodeJob::Handlers handlers;
        handlers.output = [&screen, name = node.name](int rank, StdStream stream, std::string_view bytes) {
            screen.output(name, rank, stream, bytes);
        };
        handlers.batch_ended = [&screen] { screen.flush(); };
        parts.push_back(std::make_unique<NodeJob>(*cluster.engines[node.host], node, std::move(job)));
        tasks.push_back(show(*parts.back(), options.follow, std::move(handlers)));
    }
    Errors errors;
    for (const auto& status : co_await run_all(std::move(tasks))) {
        if (!status) {
            errors.push_back(status.error());
        }
    }
    screen.finish();
    co_return errors.empty() ? 0 : context.fail(errors);
}

} // namespace

void add_logs(CLI::App& app, Program& program) {
    auto options = std::make_shared<Options>();
    auto* command = app.add_subcommand("logs", "Show a job's output: dockdist logs [JOB]");
    command->add_option("JOB", options->job, "Its name, as `run` shows it (default: the latest)");
    command->add_option("--node", options->node, "Only this node's part");
    command->add_flag("--follow", options->follow, "Go on until the job ends");
    command->add_flag("--raw", options->raw,
                      "Pass the job's bytes as they come: no prefixes, no protection of the terminal");
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_logs(context, *options); };
    });
}

} // namespace dockdist
