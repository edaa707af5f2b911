#include "client/job/job_stacks.hpp"

#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/exec_command.hpp"
#include "client/observe/node_command.hpp"
#include "shared/core/text.hpp"
#include "shared/diagnosis/flight_recorder.hpp"
#include "shared/diagnosis/ras.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto stacks_limit = 120s; // the node ends what takes long before
constexpr std::size_t longest_stacks = 64U << 20U;

struct NodeStacks {
    std::vector<wire::RankStack> ranks{};
    wire::RasReport ras{};
};

Task<Result<NodeStacks>> ask_stacks(ContainerEngine& engine, ContainerId id, JobId job,
                                    std::chrono::milliseconds pause) {
    std::vector<std::string> words{"job", "stacks", job.str()};
    if (pause.count() > 0) {
        words.push_back(std::to_string(pause.count()));
    }
    const auto answer = co_await run_command(engine, id, node_command(words), longest_stacks);
    CO_TRY(answer);
    NodeStacks told;
    for (const auto& line : split(answer->out, '\n')) {
        if (line.empty()) {
            continue;
        }
        auto word = wire::parse_stacks_word(line);
        CO_TRY(word);
        if (word->over) {
            told.ras = std::move(word->ras);
        } else {
            told.ranks.push_back(std::move(word->stack));
        }
    }
    if (answer->exit_code != 0 && told.ranks.empty()) {
        co_return Error{ErrorKind::node, "",
                        "it does not tell what its ranks are doing: " + printable(last_line(answer->err)),
                        "a node of an older dockdist cannot: `dockdist up` recreates it"};
    }
    co_return told;
}

void judge_evidence(JobStacks& stacks) {
    std::vector<RasPlace> places;
    std::vector<RankFlight> flights;
    for (const auto& [node, stack, address] : stacks.ranks) {
        if (stack.rank >= 0) {
            places.push_back({.rank = stack.rank, .host = address, .pid = stack.pid});
            flights.push_back({.rank = stack.rank, .record = &stack.flight});
        }
    }
    stacks.ras = judge_ras(stacks.reports, places, static_cast<int>(places.size()));
    stacks.flight = judge_flight(flights);
}

} // namespace

HangEvidence evidence_of(const JobStacks& stacks) {
    HangEvidence evidence{.ras = stacks.reports};
    for (const auto& each : stacks.ranks) {
        evidence.ranks.push_back({each.node.str(), &each.stack});
        evidence.nodes.emplace(each.address, each.node.str());
    }
    return evidence;
}

Task<JobStacks> fetch_stacks(const Engines& engines, const KnownJob& job, std::chrono::milliseconds pause) {
    std::vector<Task<Result<NodeStacks>>> tasks;
    std::vector<ReadyNode> nodes;
    for (const auto& part : job.parts) {
        if (part.summary.running) {
            nodes.push_back(part.node);
            tasks.push_back(
                with_timeout(ask_stacks(*engines[part.node.host], part.node.id, job.job, pause), stacks_limit,
                             Error{ErrorKind::timeout, "", "the node does not tell what its ranks are doing",
                                   "see `dockdist status`"}));
        }
    }
    auto answers = co_await run_all(std::move(tasks));
    name_nodes(answers, nodes);
    const auto commands = wire::command_ranks(latest_of(job).policy);
    JobStacks stacks;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!answers[i]) {
            stacks.errors.push_back(answers[i].error());
            continue;
        }
        stacks.reports.push_back(std::move(answers[i]->ras));
        for (auto& stack : answers[i]->ranks) {
            if (const auto own = commands.find(nodes[i].name.str());
                stack.rank < 0 && own != commands.end()) {
                stack.rank = own->second;
            }
            stacks.ranks.push_back({nodes[i].name, std::move(stack), nodes[i].record.address});
        }
    }
    std::ranges::sort(stacks.ranks, {},
                      [](const PlacedStack& one) { return std::pair(one.stack.rank, one.node); });
    judge_evidence(stacks);
    co_return stacks;
}

} // namespace dockdist
