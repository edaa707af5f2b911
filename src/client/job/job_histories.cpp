#include "client/job/job_histories.hpp"

#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/exec_command.hpp"
#include "client/observe/node_command.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto history_limit = 20s;
constexpr std::size_t longest_history = 4U << 20U;
constexpr std::size_t points_of_all_nodes = 4000; // a curve's, on all nodes together
constexpr std::size_t fewest_points = 30, most_points = 300;

Task<Result<std::optional<wire::JobHistory>>> ask_history(ContainerEngine& engine, ContainerId id, JobId job,
                                                          std::size_t points) {
    const auto answer = co_await run_command(
        engine, id, node_command({"job", "history", job.str(), std::to_string(points)}), longest_history);
    CO_TRY(answer);
    if (answer->exit_code != 0) {
        co_return Error{ErrorKind::node, "",
                        "it does not tell its history of the job: " + printable(answer->err),
                        "a node of an older dockdist keeps none: `dockdist up` recreates it"};
    }
    if (answer->out.empty()) {
        co_return std::optional<wire::JobHistory>();
    }
    auto history = wire::parse_job_history(answer->out);
    CO_TRY(history);
    co_return std::optional(std::move(*history));
}

} // namespace

Task<JobHistories> fetch_histories(const Engines& engines, const std::vector<ReadyNode>& nodes,
                                   const JobId& job) {
    const auto points =
        std::clamp(points_of_all_nodes / std::max<std::size_t>(nodes.size(), 1), fewest_points, most_points);
    std::vector<Task<Result<std::optional<wire::JobHistory>>>> tasks;
    for (const auto& node : nodes) {
        tasks.push_back(
            with_timeout(ask_history(*engines[node.host], node.id, job, points), history_limit,
                         Error{ErrorKind::timeout, "", "the node does not tell its history of the job",
                               "see `dockdist status`"}));
    }
    auto answers = co_await run_all(std::move(tasks));
    name_nodes(answers, nodes);
    JobHistories histories;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!answers[i]) {
            histories.errors.push_back(answers[i].error());
        } else if (*answers[i]) {
            histories.nodes.push_back({nodes[i].name, std::move(**answers[i])});
        }
    }
    co_return histories;
}

} // namespace dockdist
