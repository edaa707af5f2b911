#include "client/cluster/plan_executor.hpp"

#include "client/async/cleanup.hpp"
#include "client/async/run_all.hpp"
#include "client/cluster/create_node.hpp"
#include "client/cluster/hand_over.hpp"
#include "client/cluster/phase.hpp"
#include "client/cluster/slowest_step.hpp"
#include "client/cluster/start_node.hpp"
#include "client/image/pull_image.hpp"
#include "client/job/running_jobs.hpp"
#include "client/plan/labels.hpp"
#include "client/report/step.hpp"
#include "shared/wire/layout.hpp"

#include <algorithm>
#include <set>

namespace dockdist {
namespace {

template <class Operation>
void add_hosts(const std::vector<Operation>& operations, std::set<std::size_t>& hosts) {
    for (const auto& operation : operations) {
        hosts.insert(operation.host);
    }
}

// The toolkit's volume is there but its last entry is not: an upload was cut off.
bool lacks_toolkit(const Error& error) {
    return error.message.find(layout::init) != std::string::npos &&
           error.message.find("no such file") != std::string::npos;
}

} // namespace

PlanExecutor::PlanExecutor(const ClusterSpec& spec, const Engines& engines, const Toolkits& toolkits,
                           Reporter& reporter)
    : spec_(spec), engines_(engines), toolkits_(toolkits), reporter_(reporter),
      bringer_(spec, engines, toolkits, reporter), replaced_(spec, engines, reporter) {}

template <class Work>
Task<Errors> PlanExecutor::run_on(std::set<std::size_t> hosts, Work work) {
    const auto on_host = [&](std::size_t host) -> Task<Status> {
        auto status = co_await work(host);
        if (!status) {
            auto error = status.error();
            error.where = host_label(spec_.hosts[host]);
            co_return error;
        }
        co_return ok;
    };
    std::vector<Task<Status>> tasks;
    for (const auto host : hosts) {
        tasks.push_back(on_host(host));
    }
    Errors errors;
    for (auto& result : co_await run_all(std::move(tasks))) {
        if (!result) {
            errors.push_back(result.error());
        }
    }
    co_return errors;
}

template <class Work>
Task<Errors> PlanExecutor::on_hosts(std::string phase, std::set<std::size_t> hosts, Work work) {
    Phase running(reporter_, timings_, std::move(phase), hosts.size());
    const auto timed = [&](std::size_t host) -> Task<Status> {
        auto status = co_await work(host);
        running.ended_on(spec_.hosts[host].name.str());
        co_return status;
    };
    co_return co_await run_on(std::move(hosts), timed);
}

Task<Errors> PlanExecutor::bring_toolkit(const std::vector<UploadToolkit>& uploads, Task<Errors> work) {
    bringer_.expect(uploads);
    return with_cleanup<Errors>(std::move(work), [this] { return bringer_.end(); });
}

Task<Observation> PlanExecutor::observe(std::vector<bool> only) {
    const auto begin = std::chrono::steady_clock::now();
    reporter_.on({.kind = Event::Kind::phase_started, .phase = "observe"});
    SlowestStep steps(reporter_);
    auto observation =
        co_await dockdist::observe(spec_, engines_, toolkits_.versions(), steps, std::move(only));
    finish_phase({.phase = "observe",
                  .elapsed = since(begin),
                  .slowest = steps.subject(),
                  .slowest_elapsed = steps.elapsed()});
    co_return observation;
}

void PlanExecutor::finish_phase(PhaseTiming timing) {
    reporter_.on({.kind = Event::Kind::phase_finished, .phase = timing.phase, .elapsed = timing.elapsed});
    timings_.push_back(std::move(timing));
}

Task<Errors> PlanExecutor::pull(const Plan& plan, const RegistryAuth& auth) {
    std::set<std::size_t> hosts;
    add_hosts(plan.pulls, hosts);
    return on_hosts("image", hosts,
                    [this, &plan, &auth](std::size_t host) { return pull_on(host, plan, auth); });
}

Task<Errors> PlanExecutor::send(const Plan& plan, const ImageSource& source, std::string attempt,
                                std::string origin) {
    const auto begin = std::chrono::steady_clock::now();
    SendSetting setting{.ref = spec_.image.ref,
                        .source = source,
                        .toolkits = toolkits_,
                        .attempt = std::move(attempt),
                        .origin = std::move(origin)};
    for (const auto& send : plan.sends) {
        setting.hosts.push_back(send.host);
    }
    auto errors = co_await send_image(spec_, engines_, std::move(setting), reporter_);
    timings_.push_back({.phase = "image", .elapsed = since(begin)});
    co_return errors;
}

Task<Status> PlanExecutor::pull_on(std::size_t host, const Plan& plan, const RegistryAuth& auth) {
    for (const auto& pull : plan.pulls) {
        if (pull.host == host) {
            const auto& spec = spec_.hosts[host];
            if (auto status = co_await pull_image(*engines_[host], spec.name.str(), pull.image,
                                                  spec_.image.platform, auth, reporter_);
                !status) {
                co_return status;
            }
        }
    }
    co_return ok;
}

Task<void> PlanExecutor::stop_jobs(const Plan& plan) {
    if (plan.stops.empty()) {
        co_return;
    }
    const auto begin = std::chrono::steady_clock::now();
    reporter_.on({.kind = Event::Kind::phase_started, .phase = "stop"});
    std::vector<RunningJob> jobs;
    for (const auto& stop : plan.stops) {
        jobs.push_back(stop.job);
    }
    co_await stop_running_jobs(engines_, jobs);
    finish_phase({.phase = "stop", .elapsed = since(begin)});
}

Task<Errors> PlanExecutor::look(GpuSurvey& look, ObservedCluster& observed, const Plan& plan,
                                std::vector<std::size_t> hosts) {
    std::set<std::size_t> lacking;
    add_hosts(plan.uploads, lacking);
    std::erase_if(lacking, [&](std::size_t host) { return std::ranges::find(hosts, host) == hosts.end(); });
    auto uploads = plan.uploads;
    std::erase_if(uploads, [&](const UploadToolkit& upload) { return !lacking.contains(upload.host); });
    if (!lacking.empty()) {
        auto bring =
            on_hosts("toolkit", lacking, [this, &plan](std::size_t host) { return upload_on(host, plan); });
        auto errors = co_await bring_toolkit(uploads, std::move(bring));
        if (!errors.empty()) {
            co_return errors;
        }
    }
    for (const auto& upload : uploads) {
        observed.hosts[upload.host].toolkits.insert(toolkits_.of(upload.architecture)->version);
    }
    const auto begin = std::chrono::steady_clock::now();
    reporter_.on({.kind = Event::Kind::phase_started, .phase = "gpus"});
    SlowestStep steps(reporter_);
    auto errors = co_await look.take(observed, std::move(hosts), steps);
    finish_phase({.phase = "gpus",
                  .elapsed = since(begin),
                  .slowest = steps.subject(),
                  .slowest_elapsed = steps.elapsed()});
    co_return errors;
}

Task<Errors> PlanExecutor::create_and_start(const Plan& plan, std::chrono::milliseconds ready_timeout) {
    std::set<std::size_t> creating;
    add_hosts(plan.uploads, creating);
    add_hosts(plan.removals, creating);
    add_hosts(plan.renames, creating);
    add_hosts(plan.creates, creating);
    std::set<std::size_t> starting;
    add_hosts(plan.starts, starting);
    auto hosts = creating;
    hosts.insert(starting.begin(), starting.end());
    Phase create(reporter_, timings_, "create", creating.size());
    std::optional<Phase> start;
    if (starting.empty()) {
        start.emplace(reporter_, timings_, "start", 0);
    }
    const auto work = [&](std::size_t host) -> Task<Status> {
        const auto name = spec_.hosts[host].name.str();
        Status status = ok;
        if (creating.contains(host)) {
            status = co_await create_on(host, plan);
            create.ended_on(name);
        }
        if (!starting.contains(host)) {
            co_return status;
        }
        if (!start) {
            start.emplace(reporter_, timings_, "start", starting.size());
        }
        if (status) {
            status = co_await start_on(host, plan, ready_timeout);
        }
        start->ended_on(name);
        co_return status;
    };
    co_return co_await bring_toolkit(plan.uploads, run_on(hosts, work));
}

Task<Status> PlanExecutor::upload_on(std::size_t host, const Plan& plan) {
    for (const auto& operation : plan.uploads) {
        if (operation.host == host) {
            if (auto status = co_await bringer_.bring(operation); !status) {
                co_return status;
            }
        }
    }
    co_return ok;
}

Task<Status> PlanExecutor::create_on(std::size_t host, const Plan& plan) {
    if (auto status = co_await upload_on(host, plan); !status) {
        co_return status;
    }
    for (const auto& operation : plan.removals) {
        if (operation.host == host) {
            if (const auto& heir = operation.takes_over) {
                const auto left =
                    co_await hand_over_jobs(*engines_[host], {heir->node, operation.id, heir->id}, reporter_);
                CO_TRY(left);
                for (const auto& error : *left) {
                    reporter_.on(warning_event(error));
                }
            }
            Step step(reporter_, "create", spec_.hosts[host].name.str(), "remove " + operation.name);
            if (auto status = co_await engines_[host]->remove_container(operation.id); !status) {
                step.failed(status.error().message);
                co_return status;
            }
            step.finished("removed " + operation.name);
        }
    }
    for (const auto& operation : plan.renames) {
        if (operation.host == host) {
            if (auto status = co_await engines_[host]->rename_container(operation.id, operation.to);
                !status) {
                co_return status;
            }
        }
    }
    for (const auto& operation : plan.creates) {
        if (operation.host == host) {
            if (operation.replaces) {
                if (auto status = co_await replaced_.set_aside(operation); !status) {
                    co_return status;
                }
            }
            if (auto status = co_await create_node(operation); !status) {
                co_return status;
            }
        }
    }
    co_return ok;
}

Task<Status> PlanExecutor::create_node(const CreateNode& create) {
    Step step(reporter_, "create", create.node.name.str(), "create container");
    const auto id = co_await create_node_container(*engines_[create.host], create);
    if (!id) {
        step.failed(id.error().message);
        co_return id.error();
    }
    created_[create.node.name] = *id;
    step.finished("created");
    co_return ok;
}

ContainerId PlanExecutor::container_of(const NodeName& node, const ContainerId& id) const {
    if (!id.empty()) {
        return id;
    }
    const auto found = created_.find(node);
    return found == created_.end() ? ContainerId() : found->second;
}

Task<Status> PlanExecutor::start_on(std::size_t host, const Plan& plan,
                                    std::chrono::milliseconds ready_timeout) {
    for (const auto& operation : plan.starts) {
        if (operation.host != host) {
            continue;
        }
        std::optional<wire::JoinRequest> request;
        for (const auto& join : plan.joins) {
            if (join.node.name == operation.node) {
                request = request_of(join, ready_timeout);
            }
        }
        const auto create = std::ranges::find(plan.creates, operation.node,
                                              [](const CreateNode& one) { return one.node.name; });
        if (auto status = co_await start_node(operation, create == plan.creates.end() ? nullptr : &*create,
                                              std::move(request));
            !status) {
            co_return status;
        }
    }
    co_return ok;
}

Task<Status> PlanExecutor::start_node(const StartNode& start, const CreateNode* create,
                                      std::optional<wire::JoinRequest> join) {
    auto& engine = *engines_[start.host];
    Step step(reporter_, "start", start.node.str(), "start container");
    auto id = container_of(start.node, start.id);
    // One that replaces another joins when that one has ended: both may be to have the same port.
    const bool joins_first = start.id.empty() && !replaced_.replaces(start.node);
    auto started = co_await start_node_container(engine, id, joins_first, join);
    if (!started && lacks_toolkit(started.error())) {
        if (auto uploaded = co_await bringer_.upload(start.upload); !uploaded) {
            step.failed(uploaded.error().message);
            co_return uploaded;
        }
        started = co_await start_node_container(engine, id, joins_first, join);
    }
    if (!started && create != nullptr) {
        if (auto again = co_await create_with_own_limits(engine, *create, id, started.error())) {
            if (!*again) {
                step.failed(again->error().message);
                co_return again->error();
            }
            id = created_[start.node] = **again;
            reporter_.on(
                {.kind = Event::Kind::note,
                 .subject = start.node.str(),
                 .text = "its engine does not allow unlimited memlock: it has what the engine allows"});
            started = co_await start_node_container(engine, id, joins_first, join);
        }
    }
    if (!started) {
        step.failed(started.error().message);
        co_return started.error();
    }
    attached_[start.node] = std::move(*started);
    step.finished("started");
    co_return ok;
}

Task<Errors> PlanExecutor::stop_replaced() {
    auto hosts = replaced_.hosts();
    if (hosts.empty()) {
        co_return Errors{};
    }
    co_return co_await on_hosts("replace", std::move(hosts),
                                [this](std::size_t host) { return replaced_.stop_on(host); });
}

Task<JoinResult> PlanExecutor::join(const Plan& plan, std::chrono::milliseconds ready_timeout) {
    const auto begin = std::chrono::steady_clock::now();
    reporter_.on({.kind = Event::Kind::phase_started, .phase = "join"});
    SlowestStep steps(reporter_);
    std::vector<JoinTarget> targets;
    for (const auto& join : plan.joins) {
        targets.push_back({.engine = engines_[join.host].get(),
                           .id = container_of(join.node.name, join.id),
                           .request = request_of(join, ready_timeout),
                           .attached = std::move(attached_[join.node.name]),
                           .settings = join.settings,
                           .machine = join.machine,
                           .where = node_label(join.node.name, spec_.hosts[join.host])});
    }
    constexpr std::chrono::seconds hello_timeout{30};
    auto result =
        co_await join_nodes(std::move(targets), spec_.name.str(), hello_timeout, ready_timeout, steps);
    finish_phase({.phase = "join",
                  .elapsed = since(begin),
                  .slowest = steps.subject(),
                  .slowest_elapsed = steps.elapsed()});
    co_return result;
}

} // namespace dockdist
