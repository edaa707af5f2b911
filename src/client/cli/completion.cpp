// completion: the script for a shell; and what the scripts ask.
#include "client/cli/line/completion.hpp"

#include "client/cli/context.hpp"
#include "client/cli/line/read_line.hpp"
#include "client/cli/line/values.hpp"
#include "client/spec/load_spec.hpp"
#include "shared/launch/launcher.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace dockdist {
namespace {

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

// The file's own words, and nothing that would have to be asked for: no variable's value, as a name or an
// address may give it away; no list of hosts, no secret, no host. A file that is wrong has names all the
// same.
ClusterSpec file_at_hand(const std::string& named) {
    const auto text = read_file_of({.file = named});
    const auto as_written = [](const std::string& name) { return std::optional("${" + name + "}"); };
    return text ? load_spec(text->text, text->file, as_written, {.resolve_secrets = false}).spec
                : ClusterSpec{};
}

struct Completing {
    std::string line{};
    std::string breaks{};
};

// Whoever presses Tab has begun nothing yet: this runs nothing, contacts nobody, and reads cluster.yaml
// alone. So it knows no jobs.
Task<int> run_complete(Context& context, const CLI::App& program, Completing asked) {
    const auto known = [&](const std::string& kind, const std::string& named) {
        std::vector<Candidate> found;
        if (kind == "LAUNCHER") {
            for (const auto& launcher : launchers()) {
                found.push_back({std::string(launcher.name), std::string(launcher.summary)});
            }
        } else if (kind == "COMMANDS") {
            for (const auto* command : commands_of(program)) {
                found.push_back({command->get_name(), command->get_description()});
            }
        } else if (kind.find("NODE") != std::string::npos || kind.find("HOST") != std::string::npos ||
                   kind == "SOURCE" || kind == "DATA") {
            found = of_file(file_at_hand(with_home(named, client_environment("HOME").value_or(""))), kind);
        }
        return found;
    };
    context.print(completion_lines(complete_line(program, asked.line, known), asked.line, asked.breaks));
    co_return 0;
}

} // namespace

void add_completion(CLI::App& app, Program& program) {
    auto shell = std::make_shared<std::string>();
    auto* command = describe(
        app.add_subcommand("completion", "Print a script by which a shell completes commands, options, and "
                                         "the names of nodes, hosts and groups"),
        command_group::itself,
        {"source <(dockdist completion bash)     # in ~/.bashrc",
         "source <(dockdist completion zsh)      # in ~/.zshrc, after compinit",
         "dockdist completion fish | source      # in ~/.config/fish/config.fish"});
    choice(command->add_option("SHELL", *shell, "bash, zsh or fish"), completion_shells())->required();
    command->callback([shell, &program] {
        program.work = [shell](Context& context) -> Task<int> {
            context.print(completion_script(*shell));
            co_return 0;
        };
    });
    auto asked = std::make_shared<Completing>();
    auto* hidden = app.add_subcommand("__complete", "What can be completed at the cursor")->group("");
    hidden->add_option("LINE", asked->line, "The line up to the cursor")->required();
    hidden->add_option("--breaks", asked->breaks, "Characters at which the shell begins a new word");
    hidden->callback([asked, &app, &program] {
        program.work = [asked, &app](Context& context) { return run_complete(context, app, *asked); };
    });
}

} // namespace dockdist
