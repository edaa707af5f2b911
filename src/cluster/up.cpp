#include "cluster/up.hpp"

#include "async/cleanup.hpp"
#include "cluster/down.hpp"
#include "cluster/gpu_look.hpp"
#include "cluster/join.hpp"
#include "cluster/lock.hpp"
#include "cluster/plan_changes.hpp"
#include "cluster/plan_executor.hpp"
#include "plan/plan.hpp"

#include <algorithm>
#include <exception>
#include <optional>

namespace dockdist {
namespace {

class Up {
public:
    Up(const ClusterSpec& spec, const Engines& engines, const Toolkit& toolkit, const UpOptions& options,
       Reporter& reporter)
        : spec_(spec), engines_(engines), options_(options), reporter_(reporter),
          executor_(spec, engines, toolkit, reporter),
          look_(spec, engines,
                {.toolkit_version = toolkit.version, .attempt = options.attempt, .origin = options.origin}) {}

    Task<UpResult> run() {
        UpResult result;
        // co_await is not allowed in a catch block, so what was thrown (a cancellation) waits here.
        std::exception_ptr thrown;
        try {
            result.errors = co_await phases(result);
        } catch (...) {
            thrown = std::current_exception();
        }
        if (thrown) {
            co_await uncancellable();
        }
        if (wrote_ && (thrown || !result.errors.empty()) && !options_.keep) {
            const auto left = co_await take_back(spec_, engines_, options_.attempt, reporter_);
            result.errors.insert(result.errors.end(), left.begin(), left.end());
        } else if (lock_) {
            co_await engines_.front()->remove_container(*lock_);
        }
        if (thrown) {
            std::rethrow_exception(thrown);
        }
        result.timings = executor_.timings();
        co_return result;
    }

private:
    Task<Errors> phases(UpResult& result) {
        if (options_.image_source) {
            auto found = co_await options_.image_source();
            if (!found) {
                co_return Errors{found.error()};
            }
            source_ = std::move(*found);
        }
        auto planned = co_await look_and_plan();
        if (planned.errors.empty() && !(planned.plan.pulls.empty() && planned.plan.sends.empty())) {
            if (auto errors = co_await bring_image(planned.plan); !errors.empty()) {
                co_return errors;
            }
            pulled_ = true;
            planned = co_await look_and_plan(); // the image's own PATH is part of the configuration
        }
        if (!planned.errors.empty()) {
            co_return planned.errors;
        }
        if (planned.plan.empty()) {
            tell_warnings(planned, result);
            co_await remove_left_lock();
            result.nodes = ready_nodes(spec_, observed_).nodes;
            co_return Errors{};
        }
        result.changed = true;
        if (auto error = co_await lock()) {
            co_return Errors{*error};
        }
        wrote_ = true;
        if (!planned.wanted.looks.empty()) {
            planned = co_await choose_gpus(std::move(planned));
            if (!planned.errors.empty()) {
                co_return planned.errors;
            }
        }
        tell_warnings(planned, result);
        const auto& plan = planned.plan;
        co_await executor_.stop_jobs(plan);
        if (auto errors = co_await executor_.create(plan); !errors.empty()) {
            co_return errors;
        }
        co_await look_.give_back();
        tell_choices(plan);
        if (auto errors = co_await executor_.start(plan); !errors.empty()) {
            co_return errors;
        }
        co_return co_await join(plan, result);
    }

    // Under the lock: nobody else changes this cluster while its GPUs are looked at, which takes the toolkit.
    Task<PlanResult> choose_gpus(PlanResult planned) {
        if (auto errors = co_await executor_.look(look_, observed_, planned.plan, planned.wanted.looks);
            !errors.empty()) {
            co_return PlanResult{.errors = std::move(errors)};
        }
        co_return co_await plan_changes(spec_, engines_, observed_, plan_context());
    }

    void tell_warnings(const PlanResult& planned, UpResult& result) {
        for (const auto& warning : planned.warnings) {
            reporter_.on(warning_event(warning));
        }
        result.warnings = planned.warnings;
    }

    void tell_choices(const Plan& plan) {
        for (const auto& create : plan.creates) {
            if (!create.gpus.empty()) {
                reporter_.on({.kind = Event::Kind::note,
                              .subject = create.node.name.str(),
                              .text = "has " + create.gpus});
            }
        }
    }

    Task<Errors> bring_image(const Plan& plan) {
        if (!plan.sends.empty()) {
            co_return co_await executor_.send(plan, *source_, options_.attempt, options_.origin);
        }
        RegistryAuth auth;
        if (options_.registry_auth) {
            auto found = co_await options_.registry_auth();
            if (!found) {
                co_return Errors{found.error()};
            }
            auth = std::move(*found);
        }
        co_return co_await executor_.pull(plan, auth);
    }

    Task<PlanResult> look_and_plan() {
        auto observation = co_await executor_.observe();
        if (!observation.errors.empty()) {
            co_return PlanResult{.errors = std::move(observation.errors)};
        }
        observed_ = std::move(observation.cluster);
        co_return co_await plan_changes(spec_, engines_, observed_, plan_context());
    }

    PlanContext plan_context() const {
        return {.toolkit_version = executor_.toolkit_version(),
                .origin = options_.origin,
                .attempt = options_.attempt,
                .take_over = options_.take_over,
                .stop_jobs = options_.stop_jobs,
                .pulled = pulled_,
                .source = source_ ? std::optional(source_->image) : std::nullopt};
    }

    Task<std::optional<Error>> lock() {
        const auto taken = co_await take_lock(*engines_.front(), {.cluster = spec_.name,
                                                                  .image = spec_.image.ref,
                                                                  .attempt = options_.attempt,
                                                                  .origin = options_.origin,
                                                                  .where = host_label(spec_.hosts.front()),
                                                                  .break_lock = options_.break_lock});
        if (!taken) {
            auto error = taken.error();
            error.where = host_label(spec_.hosts.front());
            co_return error;
        }
        lock_ = *taken;
        co_return std::nullopt;
    }

    // Of a client that was killed when all was done but this.
    Task<void> remove_left_lock() {
        const auto& host = observed_.hosts.front();
        if (host.lock && !locked_by(*host.lock, host_label(spec_.hosts.front()),
                                    age_of(*host.lock, host.engine.system_time))) {
            co_await engines_.front()->remove_container(host.lock->id);
        }
    }

    Task<Errors> join(const Plan& plan, UpResult& result) {
        if (plan.joins.empty()) {
            result.nodes = ready_nodes(spec_, observed_).nodes;
            co_return Errors{};
        }
        auto joined = co_await executor_.join(plan, options_.ready_timeout);
        if (!joined.errors.empty()) {
            co_return joined.errors;
        }
        for (std::size_t i = 0; i < plan.joins.size(); ++i) {
            const auto& join = plan.joins[i];
            result.nodes.push_back({join.node.name, executor_.container_of(join.node.name, join.id),
                                    join.host, std::move(joined.records[i])});
        }
        co_return Errors{};
    }

    const ClusterSpec& spec_;
    const Engines& engines_;
    const UpOptions& options_;
    Reporter& reporter_;
    PlanExecutor executor_;
    GpuLook look_;
    ObservedCluster observed_{};
    std::optional<ContainerId> lock_{};
    bool wrote_ = false;
    bool pulled_ = false;
    std::optional<ImageSource> source_{};
};

} // namespace

Task<UpResult> up(const ClusterSpec& spec, const Engines& engines, const Toolkit& toolkit,
                  const UpOptions& options, Reporter& reporter) {
    Up command(spec, engines, toolkit, options, reporter);
    co_return co_await command.run();
}

} // namespace dockdist
