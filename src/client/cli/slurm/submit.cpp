#include "client/cli/slurm/submit.hpp"

#include "client/async/child_process.hpp"
#include "client/cli/slurm/batch_job.hpp"
#include "client/cli/slurm/follow_batch_job.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace dockdist {
namespace {

// For /bin/sh, which is whatever the node has: dockdist takes its place, and with it Slurm's signals.
std::string script_of(const Context& context, const std::string& file, const std::vector<std::string>& run) {
    std::error_code failed;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", failed).string();
    std::vector<std::string> words{"--file", file};
    if (const auto hosts = hosts_of(context.options); !hosts.empty()) {
        words.insert(words.end(), {"--hosts", hosts});
    }
    if (context.json()) {
        words.insert(words.end(), {"--output", "json"});
    }
    words.insert(words.end(), {"slurm", "job", "--"});
    words.insert(words.end(), run.begin(), run.end());
    return fmt::format(
        "#!/bin/sh\n"
        "program={}\n"
        "if ! [ -x \"$program\" ]; then\n"
        "    echo \"dockdist: $program is not on $(uname -n), where Slurm has started the job: put "
        "it where all nodes see it\" >&2\n"
        "    exit 127\n"
        "fi\n"
        "exec \"$program\" {}\n",
        shell_quote(program), shell_join(words));
}

std::vector<std::string> sbatch_line(const SubmitOptions& options, const std::string& cluster) {
    const auto warning = parse_duration(options.warning).value_or(std::chrono::minutes(2));
    std::vector<std::string> words{
        "sbatch", "--parsable", "--open-mode=append",
        fmt::format("--signal=B:USR1@{}", std::chrono::ceil<std::chrono::seconds>(warning).count())};
    const auto name = options.sbatch.find("--job-name");
    if (name == options.sbatch.end() || !name->second) {
        words.push_back("--job-name=" + cluster);
    }
    for (const auto& [option, value] : options.sbatch) {
        if (value) {
            words.push_back(value->empty() ? option : option + "=" + *value);
        }
    }
    words.insert(words.end(), options.more.begin(), options.more.end());
    return words;
}

// "4711", or "4711;cluster".
Task<Result<std::string>> queue(boost::asio::any_io_executor executor, std::vector<std::string> line,
                                std::string script) {
    constexpr auto limit = std::chrono::seconds(60);
    const auto shown = printable(shell_join(line));
    const auto answer = co_await run_and_read(executor, std::move(line), limit, std::move(script));
    if (!answer) {
        co_return Error{ErrorKind::config, "", fmt::format("{}: {}", shown, answer.error().message),
                        answer.error().kind == ErrorKind::not_found
                            ? "`dockdist slurm` is for a machine from which jobs are submitted to Slurm"
                            : "does slurmctld answer? `scontrol ping` tells"};
    }
    auto id = answer->output.substr(0, answer->output.find_first_not_of("0123456789"));
    if (answer->exit_code != 0 || id.empty()) {
        co_return Error{ErrorKind::config, "",
                        fmt::format("Slurm refused the job: {}", printable(answer->complaint)),
                        fmt::format("it was asked by `{}`", shown)};
    }
    co_return id;
}

} // namespace

Task<int> submit(Context& context, const Program& program, SubmitOptions options) {
    const auto line = read_batch_line(context, program, options.command);
    if (!line.errors.empty()) {
        co_return context.fail(line.errors);
    }
    const auto file = std::filesystem::absolute(line.spec.file).string();
    const auto id = co_await queue(context.executor, sbatch_line(options, line.spec.name.str()),
                                   script_of(context, file, options.command));
    if (!id) {
        co_return context.fail(id.error());
    }
    if (context.json()) {
        context.print_json({{"type", "submitted"}, {"slurm_job", *id}});
    } else if (options.no_wait) {
        context.print(*id + "\n");
    }
    if (options.no_wait) {
        co_return 0;
    }
    context.reporter->on(
        {.kind = Event::Kind::note, .text = fmt::format("Slurm's job {}: queued (Ctrl-C cancels it)", *id)});
    co_return co_await follow_batch_job(context, *id);
}

} // namespace dockdist
