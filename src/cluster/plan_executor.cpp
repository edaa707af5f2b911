#include "cluster/plan_executor.hpp"

#include "async/pause.hpp"
#include "async/run_all.hpp"
#include "cluster/slowest_step.hpp"
#include "image/pull_image.hpp"
#include "job/running_jobs.hpp"
#include "plan/labels.hpp"
#include "report/step.hpp"
#include "wire/layout.hpp"

#include <algorithm>
#include <set>

namespace dockdist {
namespace {

std::chrono::milliseconds since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
}

template <class Operation>
void add_hosts(const std::vector<Operation>& operations, std::set<std::size_t>& hosts) {
    for (const auto& operation : operations) {
        hosts.insert(operation.host);
    }
}

std::vector<std::size_t> as_vector(const std::set<std::size_t>& hosts) {
    return {hosts.begin(), hosts.end()};
}

bool lacks_infiniband(const Error& error) {
    return error.kind != ErrorKind::conflict && error.message.find("/dev/infiniband") != std::string::npos;
}

// The toolkit's volume is there but its last entry is not: an upload was cut off.
bool lacks_toolkit(const Error& error) {
    return error.message.find(layout::init) != std::string::npos &&
           error.message.find("no such file") != std::string::npos;
}

// Made by an earlier `up` from the same file, which came no further. While this one holds the lock, that one
// is not alive. What has been started is another matter: an `up` that was done between our look and our lock.
bool is_of_an_up_cut_off(const ContainerDetails& there, const Labels& ours) {
    const auto same = [&](const char* name) {
        const auto a = there.labels.find(name);
        const auto b = ours.find(name);
        return a != there.labels.end() && b != ours.end() && a->second == b->second;
    };
    return there.state == ContainerState::created && same(labels::cluster) && same(labels::node) &&
           same(labels::origin) && !same(labels::attempt);
}

// A client that was killed may have left a create under way. The engine reserves the name at once, and shows
// the container only when it is done, maybe after we looked.
Task<Result<ContainerId>> create_or_replace(ContainerEngine& engine, std::string name,
                                            ContainerConfig config) {
    constexpr int most_tries = 50;
    for (int tries = 0;; ++tries) {
        auto id = co_await engine.create_container(name, config);
        if (id || id.error().kind != ErrorKind::conflict || tries == most_tries) {
            co_return id;
        }
        const auto there = co_await engine.inspect_container(ContainerId(name)); // engines take names, too
        if (!there && there.error().kind == ErrorKind::not_found) {
            co_await pause_for(std::chrono::milliseconds(100));
        } else if (!there || !is_of_an_up_cut_off(*there, config.labels)) {
            co_return id;
        } else if (const auto removed = co_await engine.remove_container(there->id); !removed) {
            co_return removed.error();
        }
    }
}

} // namespace

PlanExecutor::PlanExecutor(const ClusterSpec& spec, const Engines& engines, const Toolkit& toolkit,
                           Reporter& reporter)
    : spec_(spec), engines_(engines), toolkit_(toolkit), reporter_(reporter) {}

template <class Work>
Task<Errors> PlanExecutor::on_hosts(std::string phase, std::vector<std::size_t> hosts, Work work) {
    const auto begin = std::chrono::steady_clock::now();
    PhaseTiming timing{.phase = phase};
    reporter_.on({.kind = Event::Kind::phase_started, .phase = phase});
    const auto on_host = [&](std::size_t host) -> Task<Status> {
        auto status = co_await work(host);
        if (const auto elapsed = since(begin); elapsed >= timing.slowest_elapsed) {
            timing.slowest = spec_.hosts[host].name.str();
            timing.slowest_elapsed = elapsed;
        }
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
    timing.elapsed = since(begin);
    finish_phase(std::move(timing));
    co_return errors;
}

Task<Observation> PlanExecutor::observe() {
    const auto begin = std::chrono::steady_clock::now();
    reporter_.on({.kind = Event::Kind::phase_started, .phase = "observe"});
    SlowestStep steps(reporter_);
    auto observation = co_await dockdist::observe(spec_, engines_, toolkit_.version, steps);
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
    return on_hosts("image", as_vector(hosts),
                    [this, &plan, &auth](std::size_t host) { return pull_on(host, plan, auth); });
}

Task<Errors> PlanExecutor::send(const Plan& plan, const ImageSource& source, std::string attempt,
                                std::string origin) {
    const auto begin = std::chrono::steady_clock::now();
    SendSetting setting{.ref = spec_.image.ref,
                        .source = source,
                        .toolkit_tar = toolkit_.tar,
                        .toolkit_version = toolkit_.version,
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

Task<Errors> PlanExecutor::look(GpuLook& look, ObservedCluster& observed, const Plan& plan,
                                std::vector<std::size_t> hosts) {
    std::set<std::size_t> lacking;
    add_hosts(plan.uploads, lacking);
    std::erase_if(lacking, [&](std::size_t host) { return std::ranges::find(hosts, host) == hosts.end(); });
    if (!lacking.empty()) {
        auto errors = co_await on_hosts("toolkit", as_vector(lacking),
                                        [this, &plan](std::size_t host) { return upload_on(host, plan); });
        if (!errors.empty()) {
            co_return errors;
        }
    }
    for (const auto host : lacking) {
        observed.hosts[host].toolkit_there = true;
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

Task<Errors> PlanExecutor::create(const Plan& plan) {
    std::set<std::size_t> hosts;
    add_hosts(plan.uploads, hosts);
    add_hosts(plan.removals, hosts);
    add_hosts(plan.creates, hosts);
    return on_hosts("create", as_vector(hosts),
                    [this, &plan](std::size_t host) { return create_on(host, plan); });
}

Task<Status> PlanExecutor::upload_on(std::size_t host, const Plan& plan) {
    for (const auto& operation : plan.uploads) {
        if (operation.host == host) {
            if (auto status = co_await upload(host, operation.container_name, operation.config); !status) {
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
            Step step(reporter_, "create", spec_.hosts[host].name.str(), "remove " + operation.name);
            if (auto status = co_await engines_[host]->remove_container(operation.id); !status) {
                step.failed(status.error().message);
                co_return status;
            }
            step.finished("removed " + operation.name);
        }
    }
    for (const auto& operation : plan.creates) {
        if (operation.host == host) {
            if (auto status = co_await create_node(operation); !status) {
                co_return status;
            }
        }
    }
    co_return ok;
}

Task<Status> PlanExecutor::upload(std::size_t host, std::string container_name, ContainerConfig config) {
    auto& engine = *engines_[host];
    Step step(reporter_, "create", spec_.hosts[host].name.str(), "upload toolkit");
    const auto id = co_await engine.create_container(std::move(container_name), std::move(config));
    if (!id && id.error().kind == ErrorKind::conflict) { // the name is this attempt's own
        step.finished("another host of the file is the same engine, and uploads it");
        co_return ok;
    }
    if (!id) {
        step.failed(id.error().message);
        co_return id.error();
    }
    step.progress("upload toolkit", std::nullopt, toolkit_.tar.size());
    auto status = co_await engine.put_archive(*id, layout::toolkit, toolkit_.tar);
    const auto removed = co_await engine.remove_container(*id);
    if (status && !removed) {
        status = removed.error();
    }
    if (!status) {
        step.failed(status.error().message);
        co_return status;
    }
    step.finished("toolkit uploaded");
    co_return ok;
}

Task<Status> PlanExecutor::create_node(const CreateNode& create) {
    auto& engine = *engines_[create.host];
    Step step(reporter_, "create", create.node.name.str(), "create container");
    auto id = co_await create_or_replace(engine, create.container_name, create.config);
    if (!id && create.without_rdma && lacks_infiniband(id.error())) {
        id = co_await create_or_replace(engine, create.container_name, *create.without_rdma);
    }
    if (!id) {
        auto error = id.error();
        if (error.kind == ErrorKind::conflict) {
            error.message = "a container named " + create.container_name +
                            " exists that is not of this cluster, or was made "
                            "just now by somebody else";
            error.hint = "run the command again; if it stays, remove or rename that container, or give the "
                         "cluster another "
                         "`name:`";
        }
        step.failed(error.message);
        co_return error;
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

Task<Errors> PlanExecutor::start(const Plan& plan) {
    std::set<std::size_t> hosts;
    add_hosts(plan.starts, hosts);
    return on_hosts("start", as_vector(hosts),
                    [this, &plan](std::size_t host) { return start_on(host, plan); });
}

Task<Status> PlanExecutor::start_on(std::size_t host, const Plan& plan) {
    for (const auto& operation : plan.starts) {
        if (operation.host == host) {
            if (auto status = co_await start_node(operation); !status) {
                co_return status;
            }
        }
    }
    co_return ok;
}

Task<Status> PlanExecutor::start_node(const StartNode& start) {
    auto& engine = *engines_[start.host];
    Step step(reporter_, "start", start.node.str(), "start container");
    const auto id = container_of(start.node, start.id);
    auto status = co_await engine.start_container(id);
    if (!status && lacks_toolkit(status.error())) {
        status = co_await upload(start.host, start.upload.container_name, start.upload.config);
        if (status) {
            status = co_await engine.start_container(id);
        }
    }
    if (!status) {
        step.failed(status.error().message);
        co_return status;
    }
    step.finished("started");
    co_return ok;
}

Task<JoinResult> PlanExecutor::join(const Plan& plan, std::chrono::milliseconds ready_timeout) {
    const auto begin = std::chrono::steady_clock::now();
    reporter_.on({.kind = Event::Kind::phase_started, .phase = "join"});
    SlowestStep steps(reporter_);
    std::vector<JoinTarget> targets;
    for (const auto& join : plan.joins) {
        auto request = join.request;
        request.ready_timeout_ms = static_cast<int>(ready_timeout.count());
        targets.push_back({.engine = engines_[join.host].get(),
                           .id = container_of(join.node.name, join.id),
                           .request = std::move(request),
                           .machine = join.machine,
                           .where = join.node.name.str() + " on " + host_label(spec_.hosts[join.host])});
    }
    constexpr std::chrono::seconds hello_timeout{30};
    constexpr std::chrono::seconds margin{
        10}; // the node's own deadline names its unreached peers: let it speak first
    auto result = co_await join_nodes(std::move(targets), spec_.name.str(), hello_timeout,
                                      ready_timeout + margin, steps);
    finish_phase({.phase = "join",
                  .elapsed = since(begin),
                  .slowest = steps.subject(),
                  .slowest_elapsed = steps.elapsed()});
    co_return result;
}

} // namespace dockdist
