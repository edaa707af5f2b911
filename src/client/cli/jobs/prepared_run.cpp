#include "client/cli/jobs/prepared_run.hpp"

#include "client/cli/jobs/own_variables.hpp"
#include "shared/core/random.hpp"
#include "shared/launch/launch_line.hpp"

#include <chrono>

namespace dockdist {
namespace {

constexpr std::chrono::seconds suspicion{30}; // where ranks work in step

} // namespace

Result<PreparedRun> judge_run(const RunOptions& options, const ClusterSpec& spec) {
    const auto name = options.launcher.empty() ? spec.launcher : options.launcher;
    const auto launcher = find_launcher(name.empty() ? "plain" : name);
    TRY(launcher);
    auto env = own_variables(options.env);
    TRY(env);
    auto settings = job_options(options, spec);
    TRY(settings);
    if (launcher->trains && options.diagnose.empty() && options.ready.empty()) {
        settings->suspect = suspicion;
    }
    if (settings->stop_hung && settings->suspect.count() == 0 && settings->stall.count() == 0) {
        return Error{ErrorKind::usage, "--on-stall", "nothing says when the job has stalled",
                     "add --stall 10m, or --diagnose 30s"};
    }
    for (const auto& secret : spec.container.secrets) {
        if (!env->contains(secret.name)) {
            settings->secrets[secret.name] = secret.value;
        }
    }
    for (const auto variable : launcher->steered_by) {
        if (!env->contains(std::string(variable))) {
            settings->unset.emplace_back(variable);
        }
    }
    settings->env = std::move(*env);
    auto roles = read_roles(options.roles, launcher->has_roles ? spec.roles : Roles{});
    TRY(roles);
    LaunchRequest request{.job = settings->job,
                          .command = options.command,
                          .ranks_per_node = options.gpus,
                          .per_rank = options.per_rank,
                          .roles = std::move(*roles),
                          .via = options.via,
                          .options = options.launcher_args,
                          .secret =
                              options.dry_run ? "(a secret of each launch)" : random_hex(secret_digits)};
    TRY(check_request(*launcher, request));
    return PreparedRun{.launcher = *launcher,
                       .job = std::move(*settings),
                       .spares = static_cast<std::size_t>(options.restarts.spares.value_or(spec.spares)),
                       .request = std::move(request),
                       .launcher_stated = !name.empty()};
}

Status judge_launch_line(const PreparedRun& prepared, std::size_t nodes, std::optional<Error>& warning) {
    if (prepared.launcher.name != "plain") {
        return ok;
    }
    auto wrong = on_each_node(prepared.request.command, nodes);
    if (wrong && !prepared.launcher_stated) {
        return *wrong;
    }
    warning = std::move(wrong);
    return ok;
}

} // namespace dockdist
