#include "client/cli/slurm/batch_job.hpp"

#include "client/async/cleanup.hpp"
#include "client/async/recurring.hpp"
#include "shared/core/exit_codes.hpp"

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

BatchLine read_batch_line(Context& context, const Program& program, const std::vector<std::string>& words) {
    if (words.front() != "run") {
        return {.errors = {{ErrorKind::usage, "", "what follows `--` is not `run`",
                            "write `-- run [OPTIONS] -- COMMAND`, as after `dockdist`"}}};
    }
    const auto read = program.read(words);
    if (!read) {
        return {.errors = {read.error()}};
    }
    auto loaded = load_without_lists(context); // outside of an allocation there is none
    if (!loaded.errors.empty()) {
        return {.errors = std::move(loaded.errors)};
    }
    if (const auto judged = read->judge_in_batch(loaded.spec); !judged) {
        return {.errors = {judged.error()}};
    }
    if (!names_slurm(loaded)) {
        context.options.hosts = "slurm";
    }
    return {.run = read->work, .spec = std::move(loaded.spec)};
}

Task<int> run_batch_job(Context& context, const Program& program, std::vector<std::string> words) {
    auto line = read_batch_line(context, program, words);
    if (!line.errors.empty()) {
        co_return context.fail(line.errors);
    }
    const BatchWorks works{.up = program.read({"up"})->work,
                           .run = std::move(line.run),
                           .down = program.read({"down", "--stop-jobs", "--purge"})->work};
    const WarningSignal warning(context);
    int down = 0;
    const int code = co_await with_cleanup(up_and_run(context, works),
                                           [&]() -> Task<void> { down = co_await works.down(context); });
    co_return code == 0 ? down : code;
}

} // namespace dockdist
