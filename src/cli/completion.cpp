// completion: the script for a shell; and what the scripts ask.
#include "cli/line/completion.hpp"

#include "async/with_timeout.hpp"
#include "cli/context.hpp"
#include "cli/line/read_line.hpp"
#include "cli/line/values.hpp"
#include "core/fd.hpp"
#include "engine/docker_engine.hpp"
#include "job/job_report.hpp"
#include "launch/launcher.hpp"
#include "spec/load_spec.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dockdist {
namespace {

constexpr auto patience = std::chrono::seconds(1); // of somebody who has pressed Tab

// Nothing may stand between a person's words.
Context silent(const Context& context, Reporter& reporter, const std::string& file) {
    auto quiet = context;
    quiet.reporter = &reporter;
    quiet.options.file = file.empty() ? context.options.file : file;
    return quiet;
}

// Of what the file says itself: hosts that a command would have to tell are left out.
std::vector<Candidate> of_file(const ClusterSpec& spec, const std::string& kind) {
    std::vector<Candidate> found;
    if (kind == "NODE" || kind == "NODES" || kind == "HOSTS") {
        for (const auto& node : expand_nodes(spec)) {
            found.push_back({node.name.str(), spec.hosts[node.host].docker.url});
        }
    }
    if (kind == "HOST" || kind == "HOSTS" || kind == "SOURCE") {
        for (const auto& host : spec.hosts) {
            found.push_back({host.name.str(), host.docker.url});
        }
    }
    if (kind == "NODE" || kind == "NODES" || kind == "HOSTS") {
        for (const auto& group : group_names(spec)) {
            found.push_back({"@" + group, "a group of the file"});
        }
    }
    if (kind == "SOURCE") {
        found.push_back({"local", "the engine that docker uses here"});
    }
    if (kind == "DATA") {
        for (const auto& data : spec.data) {
            found.push_back({data.target, data.source});
        }
    }
    return found;
}

ClusterSpec file_at_hand(const std::string& named) {
    std::filesystem::path file = named;
    if (const auto variable = client_environment("DOCKDIST_FILE"); file.empty() && variable) {
        file = *variable;
    }
    if (file.empty()) {
        const auto found = find_spec_file(std::filesystem::current_path());
        if (!found) {
            return {};
        }
        file = *found;
    }
    auto loaded = load_spec_file(file, client_environment, {.resolve_secrets = false});
    return loaded.errors.empty() ? std::move(loaded.spec) : ClusterSpec{};
}

Task<Result<std::vector<Candidate>>> ask_jobs(Context& context) {
    auto cluster = co_await attach_to_cluster(context, {.words = Words::of_jobs});
    const auto list = co_await list_jobs(cluster.engines, cluster.nodes);
    std::vector<Candidate> found;
    for (auto job = list.jobs.rbegin(); job != list.jobs.rend(); ++job) {
        const auto report = report_of(*job);
        found.push_back({report.job.str(), std::string(to_string(report.state))});
    }
    co_return found;
}

// Whoever is in the middle of a line is asked nothing, by no program that is run here either: ssh on the way
// to a host behind another opens the terminal on its own.
void give_up_terminal() {
    const Fd terminal(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC));
    if (terminal.open() && ::getsid(0) != ::getpid()) { // whose leader would take all its processes along
        ::ioctl(terminal.get(), TIOCNOTTY);
    }
    ::setenv("SSH_ASKPASS_REQUIRE", "never", 1);
    ::unsetenv("SSH_ASKPASS");
}

Task<std::vector<Candidate>> known_jobs(const Context& context, std::string file) {
    give_up_terminal();
    SilentReporter silence;
    auto quiet = silent(context, silence, file);
    on_terminal_questions(context.executor, {});
    auto found = co_await with_timeout(ask_jobs(quiet), patience, Error{.kind = ErrorKind::timeout});
    co_return found ? std::move(*found) : std::vector<Candidate>{};
}

struct Asked {
    std::string line{};
    std::string breaks{};
};

// First what is wanted, then, where that is jobs, the cluster: the reading of the line waits for nobody.
Task<int> run_complete(Context& context, const CLI::App& program, Asked asked) {
    std::optional<std::string> file_of_jobs;
    const auto known = [&](const std::string& kind, const std::string& named) {
        const auto file = with_home(named, client_environment("HOME").value_or(""));
        std::vector<Candidate> found;
        if (kind == "JOB") {
            file_of_jobs = file;
        } else if (kind == "LAUNCHER") {
            for (const auto& launcher : launchers()) {
                found.push_back({std::string(launcher.name), std::string(launcher.summary)});
            }
        } else if (kind == "COMMANDS") {
            for (const auto* command : commands_of(program)) {
                found.push_back({command->get_name(), command->get_description()});
            }
        } else if (kind.find("NODE") != std::string::npos || kind.find("HOST") != std::string::npos ||
                   kind == "SOURCE" || kind == "DATA") {
            found = of_file(file_at_hand(file), kind);
        }
        return found;
    };
    auto completion = complete_line(program, asked.line, known);
    if (file_of_jobs) {
        auto jobs = co_await known_jobs(context, *file_of_jobs);
        completion =
            complete_line(program, asked.line, [&](const std::string&, const std::string&) { return jobs; });
    }
    context.print(completion_lines(completion, asked.line, asked.breaks));
    if (file_of_jobs) {
        std::_Exit(0); // what has not answered by now, a name server above all, is waited for by nobody
    }
    co_return 0;
}

} // namespace

void add_completion(CLI::App& app, Program& program) {
    auto shell = std::make_shared<std::string>();
    auto* command = describe(
        app.add_subcommand("completion", "Print a script by which a shell completes commands, options, and "
                                         "the names of nodes, hosts and jobs"),
        command_group::itself,
        {"source <(dockdist completion bash)     # in ~/.bashrc",
         "source <(dockdist completion zsh)      # in ~/.zshrc, behind compinit",
         "dockdist completion fish | source      # in ~/.config/fish/config.fish"});
    choice(command->add_option("SHELL", *shell, "bash, zsh or fish"), completion_shells())->required();
    command->callback([shell, &program] {
        program.work = [shell](Context& context) -> Task<int> {
            context.print(completion_script(*shell));
            co_return 0;
        };
    });
    auto asked = std::make_shared<Asked>();
    auto* hidden = app.add_subcommand("__complete", "What may stand at the cursor")->group("");
    hidden->add_option("LINE", asked->line, "The line up to the cursor")->required();
    hidden->add_option("--breaks", asked->breaks, "Characters at which the shell begins a word anew");
    hidden->callback([asked, &app, &program] {
        program.work = [asked, &app](Context& context) { return run_complete(context, app, *asked); };
    });
}

} // namespace dockdist
