// exec: a command in one node, with this process's stdin and stdout. ssh: the same with a shell when none is
// named.
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "core/exit_codes.hpp"
#include "wire/gpus.hpp"
#include "wire/layout.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

struct ExecOptions {
    std::string node{};
    std::vector<std::string> command{};
    std::string user{};
    std::string workdir{};
    bool no_tty = false;
    std::optional<int> gpus{};
};

// The environment that jobs and ssh sessions have, and the user they run as.
std::vector<std::string> in_node(const ExecOptions& options, const ClusterSpec& spec,
                                 std::vector<std::string> command) {
    std::vector<std::string> words{layout::init, "with-environment"};
    const auto user = options.user.empty() ? spec.container.user : options.user;
    const auto workdir = options.workdir.empty() ? spec.container.workdir : options.workdir;
    if (!user.empty()) {
        words.insert(words.end(), {"--user", user});
    }
    if (!workdir.empty()) {
        words.insert(words.end(), {"--workdir", workdir});
    }
    if (options.gpus) { // it waits there, and says for whom
        const wire::GpuAsk ask{.count = *options.gpus, .in_use_mib = gpu_in_use_mib(spec)};
        words.insert(words.end(), {"--gpus", nlohmann::json(ask).dump(), "--owner", user_and_machine()});
    }
    words.emplace_back("--");
    words.insert(words.end(), std::make_move_iterator(command.begin()),
                 std::make_move_iterator(command.end()));
    return words;
}

Task<int> run_exec(Context& context, ExecOptions options, std::vector<std::string> fallback) {
    auto cluster = co_await attach_to_cluster(context);
    // One node that is not ready does not keep us from another.
    const auto node = find_node(cluster.nodes, options.node);
    if (!node) {
        const int code = context.fail(cluster.errors.empty() ? Errors{node.error()} : cluster.errors);
        co_return code == exit_codes::wrong_input ? code : exit_codes::own_failure;
    }
    const auto command = options.command.empty() ? std::move(fallback) : options.command;
    ExecConfig config;
    config.command = in_node(options, cluster.spec, command);
    config.user = "0:0";
    config.tty = is_interactive() && !options.no_tty;
    if (const char* term = std::getenv("TERM"); config.tty && term != nullptr) {
        config.env.push_back(std::string("TERM=") + term);
    }
    const auto code = co_await exec_with_stdio(*cluster.engines[node->host], node->id, config);
    if (!code) {
        context.fail(code.error());
        co_return exit_codes::own_failure;
    }
    co_return *code;
}

void add_options(CLI::App& command, const std::shared_ptr<ExecOptions>& options) {
    command.add_option("NODE", options->node, "A node's name or rank")->required();
    command.add_option("--user", options->user, "Run as this user (default: container.user of the file)");
    command.add_option("--workdir", options->workdir,
                       "Run in this folder (default: container.workdir of the file)");
    command.add_flag("--no-tty", options->no_tty, "No pty, even on a terminal");
    command
        .add_option(
            "--gpus", options->gpus,
            "Reserve so many of the node's GPUs, waiting in line for them, until the command ends; it sees "
            "these alone (default: it sees all and reserves none)")
        ->check(CLI::PositiveNumber);
    command.add_option("COMMAND", options->command, "The command and its arguments, after --");
}

} // namespace

void add_exec(CLI::App& app, Program& program) {
    auto options = std::make_shared<ExecOptions>();
    auto* command = app.add_subcommand("exec", "Run a command in one node: dockdist exec NODE -- COMMAND…");
    add_options(*command, options);
    command->callback([options, &program] {
        if (options->command.empty()) {
            throw CLI::RequiredError("COMMAND");
        }
        program.work = [options](Context& context) { return run_exec(context, *options, {}); };
    });
}

void add_ssh(CLI::App& app, Program& program) {
    auto options = std::make_shared<ExecOptions>();
    auto* command = app.add_subcommand("ssh", "Open a shell in a node: dockdist ssh NODE [-- COMMAND…]");
    add_options(*command, options);
    command->callback([options, &program] {
        program.work = [options](Context& context) {
            return run_exec(context, *options, {"/bin/sh", "-c", "exec \"${SHELL:-/bin/sh}\""});
        };
    });
}

} // namespace dockdist
