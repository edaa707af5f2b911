#include "client/cluster/up.hpp"

#include "client/async/cleanup.hpp"
#include "client/cluster/down.hpp"
#include "client/cluster/find_losses.hpp"
#include "client/cluster/gpu_survey.hpp"
#include "client/cluster/join.hpp"
#include "client/cluster/left_out.hpp"
#include "client/cluster/lock.hpp"
#include "client/cluster/plan_changes.hpp"
#include "client/cluster/plan_executor.hpp"
#include "client/plan/plan.hpp"
#include "client/plan/replacement.hpp"
#include "client/report/fold_errors.hpp"

#include <algorithm>
#include <exception>
#include <optional>

namespace dockdist {
namespace {

class Up {
public:
    Up(const ClusterSpec& spec, const Engines& engines, const Toolkits& toolkits, const UpOptions& options,
       Reporter& reporter)
        : spec_(spec), engines_(engines), options_(options), reporter_(reporter),
          executor_(spec, engines, toolkits, reporter), left_out_(spec, options.keep_going),
          made_on_(spec.hosts.size()),
          look_(spec, engines, {.toolkits = toolkits, .attempt = options.attempt, .origin = options.origin}) {
    }

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
            const auto missing = co_await bring_back(); // while the lock is held
            result.errors.insert(result.errors.end(), missing.begin(), missing.end());
            const auto left = co_await take_back(spec_, engines_, options_.attempt, reporter_, wrote_on_);
            result.errors.insert(result.errors.end(), left.begin(), left.end());
        } else {
            co_await take_back_left_out(result.missing);
        }
        if (locking_) {
            co_await release_lock(*engines_[lock_host_], spec_.name, options_.attempt);
        }
        if (thrown) {
            std::rethrow_exception(thrown);
        }
        auto& left_out = result.errors.empty() ? result.missing : result.errors;
        left_out.insert(left_out.begin(), left_out_.errors().begin(), left_out_.errors().end());
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
            if (auto errors = co_await bring_image(planned.plan);
                !errors.empty() && !left_out_.take(errors)) {
                co_return errors;
            }
            pulled_ = true;
            planned = co_await look_and_plan(); // the image's own PATH is part of the configuration
        }
        if (!planned.errors.empty()) {
            result.jobs_in_way = planned.jobs_in_way;
            co_return planned.errors;
        }
        if (planned.plan.empty()) {
            tell_warnings(planned, result);
            co_await remove_left_lock();
            result.nodes = ready_nodes(spec_, observed_, left_out_.others()).nodes;
            co_return Errors{};
        }
        if (!co_await may_lose(planned.plan)) {
            co_return Errors{
                {ErrorKind::conflict, "", "nothing was changed: files would be lost",
                 "fetch them (`dockdist cp`), or keep what is to stay on a mount (`container.mounts`)"}};
        }
        result.changed = true;
        if (auto error = co_await lock()) {
            co_return Errors{*error};
        }
        wrote_ = true;
        wrote_on_ = left_out_.others();
        if (!planned.wanted.looks.empty()) {
            planned = co_await choose_gpus(std::move(planned));
            if (!planned.errors.empty()) {
                co_return planned.errors;
            }
        }
        tell_warnings(planned, result);
        plan_ = std::move(planned.plan);
        co_await executor_.stop_jobs(plan_);
        auto errors = co_await executor_.create_and_start(plan_, options_.ready_timeout);
        co_await look_.give_back();
        if (!errors.empty() && !go_on_without(errors)) {
            co_return errors;
        }
        tell_choices(plan_);
        errors = co_await executor_.stop_replaced();
        if (!errors.empty() && !go_on_without(errors)) {
            co_return errors;
        }
        errors = co_await join(plan_, result);
        while (!errors.empty() && go_on_without(errors, true)) { // the others get a new list
            errors = co_await join(plan_, result);
        }
        if (!errors.empty()) {
            co_return errors;
        }
        for (auto& error :
             co_await executor_.replaced().remove(left_out_.others())) { // it is up all the same
            reporter_.on(warning_event(error));
            result.warnings.push_back(std::move(error));
        }
        co_return Errors{};
    }

    Task<bool> may_lose(Plan& plan) {
        if (!options_.may_lose) {
            co_return true;
        }
        co_await find_losses(engines_, plan, options_.comes_again);
        auto losses = losses_of(plan, spec_);
        co_return losses.empty() || co_await options_.may_lose(std::move(losses));
    }

    // A host that was reached before may have something of this `up`. One that does not answer is not made to
    // miss a second deadline: the next `up` or `down` finds what is there. In the join it is the node, as a
    // rule, that is slow or that its peers do not reach (`has_node`).
    bool go_on_without(const Errors& errors, bool has_node = false) {
        if (!left_out_.take(errors)) {
            return false;
        }
        leave_out(plan_, left_out_.hosts());
        for (const auto& error : errors) {
            if (has_node || (error.kind != ErrorKind::unreachable && error.kind != ErrorKind::timeout)) {
                made_on_[*left_out_.host_of(error)] = true;
            }
        }
        return true;
    }

    Task<void> take_back_left_out(Errors& missing) {
        if (std::ranges::find(made_on_, true) == made_on_.end() || options_.keep) {
            co_return;
        }
        auto left = co_await executor_.replaced().bring_back(options_.attempt, made_on_);
        missing.insert(missing.end(), left.begin(), left.end());
        left = co_await take_back(spec_, engines_, options_.attempt, reporter_, made_on_);
        missing.insert(missing.end(), left.begin(), left.end());
    }

    // The nodes that were to be made anew, as they were. What was stopped has new keys, which all have to
    // get.
    Task<Errors> bring_back() {
        auto& replaced = executor_.replaced();
        auto errors =
            co_await replaced.bring_back(options_.attempt, std::vector<bool>(engines_.size(), true));
        if (!errors.empty() || !replaced.stopped_any()) {
            co_return errors;
        }
        const Plan plan{.joins = joins_as_it_was(spec_, observed_, plan_, left_out_.hosts())};
        auto joined = co_await executor_.join(plan, options_.ready_timeout);
        for (auto& error : joined.errors) {
            error.message = "the existing nodes could not be joined again: " + error.message;
            error.hint = "run `dockdist up` with the previous file";
        }
        co_return std::move(joined.errors);
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
        result.warnings = planned.warnings;
        std::ranges::transform(planned.plan.orphans, std::back_inserter(result.warnings), orphan_warning);
        dockdist::tell_warnings(reporter_, result.warnings,
                                {.hosts = spec_.hosts.size(), .nodes = expand_nodes(spec_).size()});
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
        auto observation =
            co_await executor_.observe(left_out_.any() ? left_out_.others() : std::vector<bool>());
        if (!observation.errors.empty() && !left_out_.take(observation.errors)) {
            co_return PlanResult{.errors = left_out_.with_way_on(std::move(observation.errors))};
        }
        observed_ = std::move(observation.cluster);
        co_return co_await plan_changes(spec_, engines_, observed_, plan_context());
    }

    PlanContext plan_context() const {
        return {.toolkits = executor_.toolkits(),
                .release = options_.release,
                .origin = options_.origin,
                .attempt = options_.attempt,
                .take_over = options_.take_over,
                .stop_jobs = options_.stop_jobs,
                .pulled = pulled_,
                .source = source_ ? std::optional(source_->image) : std::nullopt,
                .left_out = left_out_.any() ? left_out_.hosts() : std::vector<bool>()};
    }

    LockRequest lock_request() const {
        return {.cluster = spec_.name,
                .image = spec_.image.ref,
                .attempt = options_.attempt,
                .origin = options_.origin,
                .where = host_label(spec_.hosts[lock_host_]),
                .break_lock = options_.break_lock};
    }

    // On the first host that is there.
    Task<std::optional<Error>> lock() {
        lock_host_ = left_out_.first_other();
        const auto& host = observed_.hosts[lock_host_];
        if (host.older_lock && !options_.break_lock) {
            if (auto error = held(host.older_lock->labels, host.older_lock->created_s)) {
                co_return error;
            }
        }
        locking_ = true;
        if (const auto taken = co_await take_lock(*engines_[lock_host_], lock_request()); !taken) {
            auto error = taken.error();
            error.where = host_label(spec_.hosts[lock_host_]);
            co_return error;
        }
        if (host.older_lock) {
            co_await engines_[lock_host_]->remove_container(host.older_lock->id);
        }
        co_return std::nullopt;
    }

    std::optional<Error> held(const Labels& lock, std::int64_t created_s) const {
        return locked_by(lock, host_label(spec_.hosts[lock_host_]),
                         age_of(created_s, observed_.hosts[lock_host_].engine.system_time));
    }

    // Of a client that was killed when all was done but this.
    Task<void> remove_left_lock() {
        lock_host_ = left_out_.first_other();
        const auto& host = observed_.hosts[lock_host_];
        auto& engine = *engines_[lock_host_];
        if (host.older_lock && !held(host.older_lock->labels, host.older_lock->created_s)) {
            co_await engine.remove_container(host.older_lock->id);
        }
        if (host.lock && !held(host.lock->labels, host.lock->created_s)) {
            locking_ = true;
            (void)co_await take_lock(engine, lock_request()); // in its place, and given back in the end
        }
    }

    Task<Errors> join(const Plan& plan, UpResult& result) {
        if (plan.joins.empty()) {
            result.nodes = ready_nodes(spec_, observed_, left_out_.others()).nodes;
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
    LeftOut left_out_;
    std::vector<bool> made_on_; // hosts that are left out, and may have something of this `up`
    GpuSurvey look_;
    ObservedCluster observed_{};
    Plan plan_{};               // that is carried out
    std::size_t lock_host_ = 0; // the first one that is there
    bool locking_ = false;      // the lock is this one's, or may be
    bool wrote_ = false;
    std::vector<bool> wrote_on_{}; // hosts that may have something of this `up`
    bool pulled_ = false;
    std::optional<ImageSource> source_{};
};

} // namespace

Task<UpResult> up(const ClusterSpec& spec, const Engines& engines, const Toolkits& toolkits,
                  const UpOptions& options, Reporter& reporter) {
    Up command(spec, engines, toolkits, options, reporter);
    co_return co_await command.run();
}

} // namespace dockdist
