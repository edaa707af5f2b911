#include "client/cli/scontrol.hpp"

#include "client/async/child_process.hpp"
#include "client/cli/context.hpp"
#include "client/spec/inventory.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <utility>

namespace dockdist {
namespace {

constexpr auto scontrol_limit = std::chrono::seconds(60); // slurmctld may be busy
constexpr std::size_t longest_told = 16U << 20U;

Error of_slurm(std::string message, std::string hint) {
    return {ErrorKind::config, "", std::move(message), std::move(hint)};
}

} // namespace

Task<Result<std::string>> ask_slurm(boost::asio::any_io_executor executor, std::vector<std::string> command) {
    const auto shown = printable(shell_join(command));
    auto answer = co_await run_and_read(executor, command, scontrol_limit, "", longest_told + 1);
    if (!answer) {
        const auto& error = answer.error();
        co_return of_slurm(fmt::format("{}: {}", shown, error.message),
                           error.kind == ErrorKind::not_found
                               ? "dockdist asks Slurm through its own programs, which have to be in PATH"
                               : "does slurmctld answer? `scontrol ping` tells");
    }
    if (answer->exit_code != 0) {
        co_return of_slurm(fmt::format("{} failed: {}", shown, printable(answer->complaint)),
                           "`squeue --me` lists your jobs and allocations");
    }
    if (answer->output.size() > longest_told) {
        co_return of_slurm(fmt::format("{} printed more than {}", shown, format_size({longest_told})), "");
    }
    co_return std::move(answer->output);
}

Task<Result<std::string>> read_own_allocation(boost::asio::any_io_executor executor) {
    const auto job = client_environment("SLURM_JOB_ID").value_or("");
    if (job.empty() || job.find_first_not_of("0123456789") != std::string::npos) {
        co_return of_slurm(job.empty()
                               ? "this is not inside a Slurm allocation: SLURM_JOB_ID is not set"
                               : fmt::format("SLURM_JOB_ID={} is not a job of Slurm's", printable(job)),
                           "take one with `salloc --nodes 2`, or let `dockdist slurm submit` do so; "
                           "`SLURM_JOB_ID=N dockdist …` looks into one that runs");
    }
    auto text = co_await ask_slurm(executor, {"scontrol", "show", "job", "--details", job});
    if (!text) {
        co_return text;
    }
    const auto nodes = nodes_of_allocation(*text);
    CO_TRY(nodes);
    const auto told = co_await ask_slurm(executor, {"scontrol", "show", "node", *nodes});
    if (!told) {
        co_return told;
    }
    co_return *text + "\n" + *told;
}

} // namespace dockdist
