#include "client/async/run_all.hpp"
#include "client/job/run_job.hpp"
#include "client/observe/while_asked.hpp"
#include "shared/core/proxies.hpp"
#include "shared/core/random.hpp"

#include <map>
#include <utility>

namespace dockdist {
namespace {

// Who sets a proxy for this job in one case means it in the other, too.
std::map<std::string, std::string> secrets_beside(std::map<std::string, std::string> secrets,
                                                  const std::map<std::string, std::string>& env) {
    std::vector<std::string_view> names(proxy_variables.begin(), proxy_variables.end());
    names.push_back(no_proxy_variable);
    for (const auto name : names) {
        const auto capitals = in_capitals(name);
        if (env.contains(std::string(name)) || env.contains(capitals)) {
            secrets.erase(std::string(name));
            secrets.erase(capitals);
        }
    }
    return secrets;
}

struct Asked {
    std::vector<std::unique_ptr<NodeJob>> parts{};
    std::vector<Result<wire::LaunchFacts>> answers{};
};

Task<Asked> ask_all(const Engines& engines, const std::vector<ReadyNode>& nodes, const JobOptions& options,
                    std::vector<wire::Question> questions, PortsWanted ports, Reporter* reporter) {
    wire::JobOpening opening{.job = options.job.str(),
                             .env = options.env,
                             .secrets = secrets_beside(options.secrets, options.env),
                             .unset = options.unset,
                             .workdir = options.workdir,
                             .user = options.user,
                             .lease_ms = options.lease.count(),
                             .grace_ms = options.grace.count(),
                             .signal = options.signal,
                             .timeout_ms = options.timeout.count(),
                             .log_limit = static_cast<std::int64_t>(options.log_limit.count),
                             .questions = std::move(questions),
                             .ports = ports.count,
                             .token = random_hex(16),
                             .owner = options.owner,
                             .gpus = options.gpus};
    Asked asked;
    std::vector<Task<Result<wire::LaunchFacts>>> tasks;
    for (const auto& node : nodes) {
        opening.gpus.taken = node.host < options.old_holds.size() ? options.old_holds[node.host]
                                                                  : std::vector<wire::GpuHold>();
        asked.parts.push_back(std::make_unique<NodeJob>(*engines[node.host], node, opening));
        opening.ports = ports.everywhere ? ports.count : 0;
        tasks.push_back(while_asked(reporter, node.name.str(), asked.parts.back()->open()));
    }
    asked.answers = co_await run_all(std::move(tasks));
    name_nodes(asked.answers, nodes);
    co_return asked;
}

// What is wrong with a node, and not with the job: that is so on every one.
bool is_of_the_node(const Error& error) {
    return error.kind != ErrorKind::usage && error.kind != ErrorKind::conflict &&
           error.kind != ErrorKind::internal;
}

} // namespace

Task<OpenedJob> open_job(const Engines& engines, const std::vector<ReadyNode>& nodes,
                         const JobOptions& options, std::vector<wire::Question> questions, PortsWanted ports,
                         Reporter* reporter) {
    auto asked = co_await ask_all(engines, nodes, options, std::move(questions), ports, reporter);
    OpenedJob opened{.parts = std::move(asked.parts)};
    for (auto& answer : asked.answers) {
        if (answer) {
            opened.facts.push_back(std::move(*answer));
        } else {
            opened.errors.push_back(answer.error());
        }
    }
    co_return opened;
}

Task<OpenedJob> open_any(const Engines& engines, const NodeChoice& choice, JobOptions options,
                         std::vector<wire::Question> questions, int ports, Reporter* reporter) {
    options.gpus.look = true;
    auto asked = co_await ask_all(engines, choice.nodes, options, std::move(questions), {ports, true},
                                  reporter); // any is the first
    OpenedJob opened{.choice = choice.choice};
    std::map<std::size_t, std::size_t> place_of; // among those that are left
    std::vector<std::vector<std::size_t>> domains;
    for (std::size_t i = 0; i < asked.answers.size(); ++i) {
        auto& answer = asked.answers[i];
        if (!answer) {
            (is_of_the_node(answer.error()) ? opened.left_out : opened.errors).push_back(answer.error());
            continue;
        }
        place_of[i] = opened.parts.size();
        opened.looks = opened.looks && answer->gpus.looks;
        opened.facts.push_back(std::move(*answer));
        opened.parts.push_back(std::move(asked.parts[i]));
        domains.push_back(choice.choice.domains[i]);
    }
    opened.choice.domains = std::move(domains);
    bool enough = true;
    for (auto& [count, among] : opened.choice.seats) {
        std::erase_if(among, [&](std::size_t node) { return !place_of.contains(node); });
        std::ranges::transform(among, among.begin(), [&](std::size_t node) { return place_of[node]; });
        enough = enough && among.size() >= count;
    }
    if (!enough) {
        std::ranges::move(std::exchange(opened.left_out, {}), std::back_inserter(opened.errors));
    }
    co_return opened;
}

} // namespace dockdist
