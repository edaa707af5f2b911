#include "cli/slurm/batch_job.hpp"

#include "async/cleanup.hpp"
#include "async/recurring.hpp"
#include "core/exit_codes.hpp"
#include "spec/load_spec.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dockdist {
namespace {

// A warning of the batch system, for as long as this lives.
class WarningSignal {
public:
    explicit WarningSignal(Context& context)
        : watch_(context.executor, {SIGUSR1}, [&context] { context.interrupts->end_of_time(); }) {}
    WarningSignal(const WarningSignal&) = delete;
    WarningSignal& operator=(const WarningSignal&) = delete;
    ~WarningSignal() { watch_.stop(); }

private:
    SignalWatch watch_;
};

// Slurm begins a job again on other nodes, or on the same ones, where an earlier try may have been killed.
bool is_begun_again() {
    const auto restarts = client_environment("SLURM_RESTART_COUNT").value_or("0");
    return !restarts.empty() && restarts != "0";
}

struct BatchWorks {
    Work up{}, run{}, down{};
};

Task<int> up_and_run(Context& context, const BatchWorks& works) {
    if (is_begun_again()) {
        co_await works.down(context);
    }
    const int up = co_await works.up(context);
    co_return up != 0 ? up : co_await works.run(context);
}

} // namespace

Result<Work> read_run_line(const Program& program, const std::vector<std::string>& words) {
    if (words.empty() || words.front() != "run") {
        return Error{ErrorKind::usage, "", "what stands behind `--` is no `run`",
                     "write `-- run [OPTIONS] -- COMMAND`, as behind `dockdist`"};
    }
    return program.read(words);
}

Loaded take_hosts_of_slurm(Context& context) {
    const auto file = file_of(context.options);
    if (!file) {
        return {.errors = {file.error()}};
    }
    // Without the lists of hosts: outside of an allocation there is none.
    auto loaded = load_spec_file(*file, client_environment,
                                 {.resolve_secrets = false, .hosts = hosts_of(context.options)});
    const bool slurm = std::ranges::any_of(
        loaded.sources, [](const HostSource& source) { return source.format == HostSource::Format::slurm; });
    if (!slurm) {
        context.options.hosts = "slurm";
    }
    return {.spec = std::move(loaded.spec), .errors = std::move(loaded.errors)};
}

Task<int> run_batch_job(Context& context, const Program& program, std::vector<std::string> words) {
    auto run = read_run_line(program, words);
    if (!run) {
        co_return context.fail(run.error());
    }
    if (const auto loaded = take_hosts_of_slurm(context); !loaded.errors.empty()) {
        co_return context.fail(loaded.errors);
    }
    const BatchWorks works{.up = *program.read({"up"}),
                           .run = std::move(*run),
                           .down = *program.read({"down", "--stop-jobs", "--purge"})};
    const WarningSignal warning(context);
    int down = 0;
    const int code = co_await with_cleanup(up_and_run(context, works),
                                           [&]() -> Task<void> { down = co_await works.down(context); });
    co_return code == 0 ? down : code;
}

} // namespace dockdist
