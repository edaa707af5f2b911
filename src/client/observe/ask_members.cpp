#include "client/observe/ask_members.hpp"

#include "client/async/run_all.hpp"
#include "client/async/with_timeout.hpp"
#include "client/container/exec_command.hpp"
#include "client/observe/node_command.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t most_asked = 4; // a node that is new remembers nobody
constexpr std::size_t longest_answer = 8U << 20U;
constexpr std::chrono::seconds answer_limit{20};

Task<Result<CommandResult>> ask(ContainerEngine& engine, ContainerId id) {
    co_return co_await run_command(engine, std::move(id), node_command({"members"}), longest_answer);
}

} // namespace

Task<std::vector<wire::NodeRecord>> ask_members(const Engines& engines, std::vector<ReadyNode> nodes) {
    nodes.resize(std::min(nodes.size(), most_asked));
    std::vector<Task<Result<CommandResult>>> tasks;
    for (const auto& node : nodes) {
        tasks.push_back(
            with_timeout(ask(*engines[node.host], node.id), answer_limit,
                         Error{ErrorKind::timeout, "", "it does not say which members it knows", ""}));
    }
    std::vector<wire::NodeRecord> known;
    for (const auto& answer : co_await run_all(std::move(tasks))) {
        for (const auto& line : split(answer && answer->exit_code == 0 ? answer->out : "", '\n')) {
            if (auto members = wire::parse_members(line)) {
                std::ranges::move(members->nodes, std::back_inserter(known));
            }
        }
    }
    co_return known;
}

} // namespace dockdist
