#include "client/cluster/gpu_survey.hpp"

#include "client/async/pause.hpp"
#include "client/async/run_all.hpp"
#include "client/cluster/lock.hpp"
#include "client/container/confine.hpp"
#include "client/observe/gpu_helper.hpp"
#include "client/plan/architecture.hpp"
#include "client/plan/engine_abilities.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/node_config.hpp"
#include "client/plan/node_gpus.hpp"
#include "client/report/step.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dockdist {
namespace {

constexpr std::chrono::minutes look_lifetime{2}; // nobody chooses for that long: a client was killed

// Two that met do not meet again and again.
std::chrono::milliseconds some_pause() {
    const auto digits = random_hex(3);
    int number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
    return std::chrono::milliseconds(50 + number % 400);
}

std::string chooser_of(const Labels& of) {
    const auto holder = parse_holder(label_of(of, labels::holder));
    const auto cluster = label_of(of, labels::cluster);
    return fmt::format("{} for cluster {}",
                       holder ? printable(holder->user + "@" + holder->machine) : "somebody",
                       cluster.empty() ? "?" : printable(cluster));
}

} // namespace

GpuSurvey::GpuSurvey(const ClusterSpec& spec, const Engines& engines, Setting setting)
    : spec_(spec), engines_(engines), setting_(std::move(setting)) {}

Task<Errors> GpuSurvey::take(ObservedCluster& observed, std::vector<std::size_t> hosts, Reporter& reporter) {
    for (const auto host : hosts) {
        const auto* toolkit = toolkit_of(setting_.toolkits, spec_.image, observed.hosts[host]);
        versions_[host] = toolkit == nullptr ? "" : toolkit->version;
        if (uses_cdi(spec_.hosts[host], observed.hosts[host].engine)) {
            by_cdi_.insert(host);
        }
        engine_infos_[host] = observed.hosts[host].engine;
    }
    const auto held = co_await hold(hosts);
    if (!held) {
        co_return Errors{held.error()};
    }
    std::vector<Task<Status>> looks;
    for (const auto host : *held) {
        looks.push_back(look(observed.hosts[host], host, reporter));
    }
    Errors errors;
    const auto results = co_await run_all(std::move(looks));
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!results[i]) {
            auto error = results[i].error();
            error.where = host_label(spec_.hosts[(*held)[i]]);
            errors.push_back(std::move(error));
        }
    }
    co_return errors;
}

Task<void> GpuSurvey::give_back() {
    std::vector<Task<Status>> removals;
    for (const auto& [host, id] : held_) {
        removals.push_back(engines_[host]->remove_container(id));
    }
    held_.clear();
    co_await run_all(std::move(removals)); // what stays is stale soon
}

ContainerConfig GpuSurvey::config_for(std::size_t host) const {
    auto config = gpu_look_config(spec_.image, versions_.at(host),
                                  by_cdi_.contains(host) ? HelperGpus::by_cdi : HelperGpus::by_hook,
                                  gpu_in_use_mib(spec_));
    fit(config, engine_infos_.at(host));
    config.labels = labels::common(spec_.name.str(), "look", setting_.attempt, setting_.origin);
    config.labels[labels::holder] = to_label(this_process());
    return config;
}

// Nothing is held while something else is waited for.
Task<Result<std::vector<std::size_t>>> GpuSurvey::hold(const std::vector<std::size_t>& hosts) {
    const auto begin = std::chrono::steady_clock::now();
    while (true) {
        std::vector<Task<Result<ContainerId>>> creates;
        for (const auto host : hosts) {
            creates.push_back(engines_[host]->create_container(gpu_look, config_for(host)));
        }
        const auto made = co_await run_all(std::move(creates));
        std::optional<Error> obstacle;
        for (std::size_t i = 0; i < hosts.size(); ++i) {
            if (made[i]) {
                held_[hosts[i]] = *made[i];
            }
        }
        for (std::size_t i = 0; i < hosts.size(); ++i) {
            if (made[i]) {
                continue;
            }
            auto error = made[i].error().kind == ErrorKind::conflict ? co_await in_the_way(hosts[i])
                                                                     : std::optional(made[i].error());
            if (error && error->kind != ErrorKind::locked) {
                error->where = host_label(spec_.hosts[hosts[i]]);
                co_await give_back();
                co_return *error;
            }
            obstacle = error ? error : obstacle;
        }
        if (held_.size() == hosts.size()) {
            co_return hosts;
        }
        co_await give_back();
        if (obstacle && std::chrono::steady_clock::now() - begin > setting_.patience) {
            co_return *obstacle;
        }
        co_await pause_for(some_pause());
    }
}

// kind locked: by whom; nothing where it has gone by now, or was stale and is removed.
Task<std::optional<Error>> GpuSurvey::in_the_way(std::size_t host) {
    auto& engine = *engines_[host];
    const auto looks = co_await engine.list_containers({.labels = {std::string(labels::role) + "=look"}});
    CO_TRY(looks);
    const auto there = std::ranges::find(*looks, gpu_look, &ContainerSummary::name);
    if (there == looks->end()) {
        co_return std::nullopt;
    }
    if (label_of(there->labels, labels::attempt) == setting_.attempt) {
        co_return Error{ErrorKind::config, "", "another host of the file is the same engine",
                        "name the engine once, with `nodes: 2`"};
    }
    const auto info = co_await engine.info();
    const auto age = age_of(there->created_s, info ? info->system_time : "");
    const auto holder = parse_holder(label_of(there->labels, labels::holder));
    if (age > look_lifetime || (holder && !may_be_alive(*holder, this_process()))) {
        const auto removed = co_await engine.remove_container(there->id);
        co_return removed ? std::nullopt : std::optional(removed.error());
    }
    co_return Error{ErrorKind::locked, host_label(spec_.hosts[host]),
                    fmt::format("{} has been choosing GPUs there for {}", chooser_of(there->labels),
                                format_duration(age)),
                    "try again when that is done"};
}

Task<Status> GpuSurvey::look(ObservedHost& seen, std::size_t host, Reporter& reporter) {
    Step step(reporter, "gpus", spec_.hosts[host].name.str(), "look at its GPUs");
    auto neighbours = co_await neighbours_on(host);
    auto report = neighbours ? co_await report_of(host) : Result<wire::GpuReport>(neighbours.error());
    if (!report) {
        step.failed(report.error().message);
        co_return report.error();
    }
    step.finished(counted(report->units.size(), "GPU"));
    seen.gpus = std::move(*report);
    seen.neighbours = std::move(*neighbours);
    co_return ok;
}

Task<Result<wire::GpuReport>> GpuSurvey::report_of(std::size_t host) {
    auto report = co_await start_and_hear(*engines_[host], held_.at(host));
    if (!report && (report.error().kind == ErrorKind::timeout || report.error().kind == ErrorKind::node)) {
        auto error = report.error();
        error.hint += (error.hint.empty() ? "" : " Else ") + std::string("name the GPUs: `gpus: [0, 1]`");
        co_return error;
    }
    co_return report;
}

// As they are now that nobody else chooses.
Task<Result<std::vector<Neighbour>>> GpuSurvey::neighbours_on(std::size_t host) {
    auto& engine = *engines_[host];
    const auto containers = co_await engine.list_containers({.labels = {labels::cluster}});
    CO_TRY(containers);
    auto neighbours = neighbours_in(*containers, spec_.name);
    for (auto& neighbour : neighbours) {
        if (!neighbour.old) {
            continue;
        }
        const auto details = co_await engine.inspect_container(neighbour.id);
        if (details) { // else it has gone
            neighbour.gpus = gpus_of_requests(details->device_requests);
        }
    }
    co_return neighbours;
}

} // namespace dockdist
