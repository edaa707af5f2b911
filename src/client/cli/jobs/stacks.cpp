#include "client/cli/jobs/find_job.hpp"
#include "client/cli/jobs/job_end.hpp"
#include "client/cli/line/values.hpp"
#include "client/job/stack_groups.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <optional>

namespace dockdist {
namespace {

struct StacksOptions {
    std::string job{};
    std::string node{};
    std::optional<int> rank{};
    bool all_threads = false;
};

nlohmann::json thread_json(const wire::ThreadStack& thread) {
    auto frames = nlohmann::json::array();
    for (const auto& frame : thread.frames) {
        frames.push_back({{"function", frame.function},
                          {"file", frame.file},
                          {"line", frame.line == 0 ? nlohmann::json() : nlohmann::json(frame.line)}});
    }
    return {{"name", thread.name},
            {"id", thread.id},
            {"active", thread.active},
            {"holds_gil", thread.holds_gil},
            {"frames", std::move(frames)}};
}

nlohmann::json rank_json(const PlacedStack& placed, std::size_t place) {
    const auto& stack = placed.stack;
    const auto or_null = [](const std::string& text) {
        return text.empty() ? nlohmann::json() : nlohmann::json(text);
    };
    nlohmann::json json{{"rank", stack.rank < 0 ? nlohmann::json() : nlohmann::json(stack.rank)},
                        {"node", placed.node.str()},
                        {"place", place},
                        {"pid", stack.pid},
                        {"command", stack.command},
                        {"state", wire::to_string(stack.state)},
                        {"waits_in", or_null(stack.waits_in)},
                        {"cpu_percent", stack.cpu_percent},
                        {"silent_ms", stack.silent_ms},
                        {"moves", stack.moves},
                        {"tool", or_null(stack.tool)},
                        {"threads", nlohmann::json::array()},
                        {"lines", stack.lines},
                        {"problem", or_null(stack.problem)},
                        {"hint", or_null(stack.advice)}};
    for (const auto& thread : stack.threads) {
        json["threads"].push_back(thread_json(thread));
    }
    return json;
}

nlohmann::json verdict_json(const std::vector<PlacedStack>& ranks) {
    const auto verdict = judge_stacks(ranks);
    if (verdict.kind == HangVerdict::Kind::none) {
        return nullptr;
    }
    nlohmann::json json{{"kind", to_string(verdict.kind)},
                        {"ranks", nlohmann::json::array()},
                        {"text", verdict.text},
                        {"hint", verdict.hint.empty() ? nlohmann::json() : nlohmann::json(verdict.hint)}};
    for (const auto index : verdict.ranks) {
        json["ranks"].push_back({{"rank", ranks[index].stack.rank}, {"node", ranks[index].node.str()}});
    }
    return json;
}

nlohmann::json evidence_json(const Evidence& evidence) {
    if (evidence.text.empty()) {
        return nullptr;
    }
    return {{"kind", to_string(evidence.kind)},
            {"ranks", evidence.ranks},
            {"text", evidence.text},
            {"hint", evidence.hint.empty() ? nlohmann::json() : nlohmann::json(evidence.hint)}};
}

nlohmann::json stacks_json(const JobId& job, const JobStacks& stacks) {
    const auto& ranks = stacks.ranks;
    auto all = nlohmann::json::array();
    const auto groups = group_stacks(ranks);
    for (std::size_t place = 0; place < groups.size(); ++place) {
        for (const auto* each : groups[place]) {
            all.push_back(rank_json(*each, place));
        }
    }
    return {{"job", job.str()},
            {"places", groups.size()},
            {"verdict", verdict_json(ranks)},
            {"ras", evidence_json(stacks.ras)},
            {"flight_recorder", evidence_json(stacks.flight)},
            {"ranks", std::move(all)}};
}

Task<int> run_stacks(Context& context, StacksOptions options) {
    auto found = co_await find_job(context, options.job, options.node);
    if (!found.found) {
        co_return found.unknown ? fail_before(context, found.errors) : context.fail(found.errors);
    }
    auto errors = std::move(found.errors);
    forget_lost(errors, left_out_of(found.job), found);
    if (std::ranges::none_of(found.job.parts, [](const KnownPart& part) { return part.summary.running; })) {
        errors.push_back({ErrorKind::job, found.job.job.str(), "it has ended: no rank of it does anything",
                          "`dockdist jobs " + found.job.job.str() + "` tells how"});
        co_return context.fail(errors);
    }
    auto stacks = co_await fetch_stacks(found.cluster.engines, found.job);
    if (options.rank) {
        std::erase_if(stacks.ranks,
                      [&](const PlacedStack& each) { return each.stack.rank != *options.rank; });
    }
    std::ranges::move(stacks.errors, std::back_inserter(errors));
    if (context.json()) {
        context.print_json(stacks_json(found.job.job, stacks));
    } else if (!stacks.ranks.empty() || errors.empty()) {
        context.print(stacks_text(found.job.job, stacks,
                                  options.all_threads ? ShownThreads::all : ShownThreads::main,
                                  context.output()));
    }
    co_return errors.empty() ? 0 : context.fail(errors);
}

} // namespace

void add_stacks(CLI::App& app, Program& program) {
    auto options = std::make_shared<StacksOptions>();
    auto* command = describe(
        app.add_subcommand("stacks", "Show where each rank of a running job stands in its code, ranks at the "
                                     "same place together; nothing is stopped for it"),
        command_group::jobs,
        {"dockdist stacks              # of the latest job", "dockdist stacks night --rank 3 --threads"});
    command->add_option("JOB", options->job, "Its name, as `run` and `jobs` show it (default: the latest)");
    command
        ->add_option("--node", options->node,
                     "Only the ranks on this node: its name or rank; or on some: node-[0-3], @rack2")
        ->type_name("NODES");
    number(command->add_option("--rank", options->rank, "Only this rank of the job"), 0);
    command->add_flag("--threads", options->all_threads,
                      "Every thread, not only the main one and the one that holds Python's GIL");
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_stacks(context, *options); };
    });
}

} // namespace dockdist
