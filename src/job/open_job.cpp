#include "async/run_all.hpp"
#include "core/proxies.hpp"
#include "core/random.hpp"
#include "job/run_job.hpp"
#include "observe/while_asked.hpp"

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

} // namespace

Task<OpenedJob> open_job(const Engines& engines, const std::vector<ReadyNode>& nodes,
                         const JobOptions& options, std::vector<wire::Question> questions, PortsWanted ports,
                         Reporter* reporter) {
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
    OpenedJob opened;
    std::vector<Task<Result<wire::LaunchFacts>>> tasks;
    for (const auto& node : nodes) {
        opening.gpus.taken = node.host < options.old_holds.size() ? options.old_holds[node.host]
                                                                  : std::vector<wire::GpuHold>();
        opened.parts.push_back(std::make_unique<NodeJob>(*engines[node.host], node, opening));
        opening.ports = ports.everywhere ? ports.count : 0;
        tasks.push_back(while_asked(reporter, node.name.str(), opened.parts.back()->open()));
    }
    auto answers = co_await run_all(std::move(tasks));
    name_nodes(answers, nodes);
    for (auto& answer : answers) {
        if (answer) {
            opened.facts.push_back(std::move(*answer));
        } else {
            opened.errors.push_back(answer.error());
        }
    }
    co_return opened;
}

} // namespace dockdist
