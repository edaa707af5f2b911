// exec: a command in one node, with this process's stdin and stdout. ssh: a shell there, with a line of its
// own or none. Both end with this client what they have started.
#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/nodes/terminal.hpp"
#include "client/cli/proxies.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/units.hpp"
#include "shared/wire/gpus.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/layout.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

struct ExecOptions {
    std::string node{};
    std::vector<std::string> command{};
    bool by_shell = false; // as ssh does it: the words are one line for the user's shell there
    std::string user{};
    std::string workdir{};
    bool no_tty = false;
    bool no_stdin = false;
    bool detach = false;
    std::string lease = flag_duration(wire::default_lease);
    std::optional<int> gpus{};
};

wire::SessionAsk session_of(const ExecOptions& options) {
    wire::SessionAsk ask;
    const auto lease = parse_duration(options.lease).value_or(wire::default_lease);
    ask.lease_ms = options.detach ? 0 : lease.count();
    if (is_interactive() && !options.no_tty && !options.no_stdin) {
        ask.terminal = window_size();
    } else {
        ask.input = !options.no_stdin && !input_has_ended();
    }
    return ask;
}

// The environment that jobs and ssh sessions have, and the user they run as.
std::vector<std::string> in_node(const ExecOptions& options, const ClusterSpec& spec,
                                 const wire::SessionAsk& ask) {
    std::vector<std::string> words{layout::init, "with-environment", "--session", wire::session_ask(ask)};
    const auto user = options.user.empty() ? spec.container.user : options.user;
    const auto workdir = options.workdir.empty() ? spec.container.workdir : options.workdir;
    if (!user.empty()) {
        words.insert(words.end(), {"--user", user});
    }
    if (!workdir.empty()) {
        words.insert(words.end(), {"--workdir", workdir});
    }
    if (options.gpus) { // it waits there, and says for whom
        const wire::GpuAsk wanted{.count = *options.gpus, .in_use_mib = gpu_in_use_mib(spec)};
        words.insert(words.end(), {"--gpus", nlohmann::json(wanted).dump(), "--owner", user_and_machine()});
    }
    if (options.by_shell) {
        words.insert(words.end(), {"--line", fmt::format("{}", fmt::join(options.command, " "))});
        return words;
    }
    words.emplace_back("--");
    words.insert(words.end(), options.command.begin(), options.command.end());
    return words;
}

Task<int> run_exec(Context& context, ExecOptions options) {
    const auto ask = session_of(options);
    const NodeWords words{.text = options.node};
    auto cluster = co_await attach_to_cluster(context, {.named = {words}});
    // One node that is not ready does not keep us from another.
    const auto node = one_node(cluster, words);
    if (!node) {
        const int code = context.fail(why_no_node(cluster, node.error()));
        co_return code == exit_codes::wrong_input ? code : exit_codes::own_failure;
    }
    HeldCommand command{.ask = ask, .where = node->name.str()};
    command.config.command = in_node(options, cluster.spec, ask);
    command.config.user = "0:0";
    if (const char* term = std::getenv("TERM"); ask.terminal && term != nullptr) {
        command.config.env.push_back(std::string("TERM=") + term);
    }
    for (const auto& [name, value] : own_proxies(context, cluster.spec)) {
        command.config.env.push_back(fmt::format("{}={}", name, value));
    }
    const auto code = co_await exec_with_stdio(*cluster.engines[node->host], node->id, std::move(command),
                                               *context.interrupts, *context.reporter);
    if (!code) {
        context.fail(code.error());
        co_return exit_codes::own_failure;
    }
    co_return *code;
}

void add_options(CLI::App& command, const std::shared_ptr<ExecOptions>& options) {
    command.add_option("NODE", options->node, "A node's name or rank, or a group of one: @head")->required();
    command.add_option("--user", options->user, "Run as this user (default: container.user of the file)")
        ->type_name("USER");
    command
        .add_option("--workdir", options->workdir,
                    "Run in this folder of the node (default: container.workdir of the file)")
        ->type_name("PATH");
    command.add_flag("--no-tty", options->no_tty, "No pty, even on a terminal");
    command.add_flag("-n,--no-stdin", options->no_stdin,
                     "Read nothing from this command's own stdin, as `ssh -n`: for loops of `while read`");
    command.add_flag("--detach", options->detach, "Leave the command running when this client ends");
    duration(command.add_option("--lease", options->lease,
                                "How long the command lives on when nothing is heard from this client"))
        ->capture_default_str();
    number(command.add_option("--gpus", options->gpus,
                              "Reserve this many of the node's GPUs, waiting in line for them, until the "
                              "command ends; it sees only these (default: it sees all and reserves none)"),
           1, most_gpus_of_a_node);
    command.add_option("COMMAND", options->command,
                       options->by_shell
                           ? "A line for the shell there, after --; its words are joined, as ssh does"
                           : "The command and its arguments, after --; no shell sees them");
}

} // namespace

void add_exec(CLI::App& app, Program& program) {
    auto options = std::make_shared<ExecOptions>();
    auto* command = describe(
        app.add_subcommand("exec", "Run a command in one node"), command_group::nodes,
        {"dockdist exec node-0 -- nvidia-smi", "dockdist exec node-0 --gpus 1 -- python3 -m pytest"});
    add_options(*command, options);
    command->callback([options, &program] {
        if (options->command.empty()) {
            throw CLI::RequiredError("COMMAND");
        }
        program.work = [options](Context& context) { return run_exec(context, *options); };
    });
}

void add_ssh(CLI::App& app, Program& program) {
    auto options = std::make_shared<ExecOptions>();
    options->by_shell = true;
    auto* command =
        describe(app.add_subcommand("ssh", "Open a shell in a node, or run a line in one"),
                 command_group::nodes, {"dockdist ssh node-0", "dockdist ssh node-0 -- 'cd /data && ls'"});
    add_options(*command, options);
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_exec(context, *options); };
    });
}

} // namespace dockdist
