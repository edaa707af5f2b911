// ssh-config: what the user's own ssh needs to reach the nodes, printed or kept in a file that it reads.
#include "cli/line/values.hpp"
#include "cli/nodes/own_ssh.hpp"
#include "core/exit_codes.hpp"
#include "core/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

struct SshConfigOptions {
    bool install = false;
    bool remove = false;
    std::string prefix{};
};

void print_installed(const Context& context, const LoginFiles& files, const std::vector<std::string>& names) {
    if (context.json()) {
        return context.print_json(
            {{"type", "result"}, {"installed", files.entries().string()}, {"hosts", names}});
    }
    context.print(fmt::format("{}: {} host{}, included by ~/.ssh/config\n", files.entries().string(),
                              names.size(), names.size() == 1 ? "" : "s"));
    context.reporter->on(
        {.kind = Event::Kind::note,
         .text = fmt::format("`ssh {}` logs in; so do scp, sftp, rsync, and editors over ssh",
                             names.empty() ? "NAME" : names.front())});
}

Task<int> remove_entries(Context& context) {
    const auto loaded = co_await load(context, Secrets::leave);
    if (!loaded.errors.empty()) {
        co_return context.fail(loaded.errors);
    }
    const auto removed = login_files(loaded.spec).remove();
    if (!removed) {
        co_return context.fail(removed.error());
    }
    if (context.json()) {
        context.print_json({{"type", "result"}, {"removed", *removed}});
    } else {
        context.print(loaded.spec.name.str() + (*removed
                                                    ? ": its ssh key, host keys and entries are removed\n"
                                                    : ": nothing to remove\n"));
    }
    co_return 0;
}

Task<int> run_ssh_config(Context& context, SshConfigOptions options) {
    if (options.remove) {
        co_return co_await remove_entries(context);
    }
    if (!options.prefix.empty() && !is_plain_name(options.prefix)) {
        co_return context.fail({ErrorKind::usage, "--as", "`" + printable(options.prefix) + "` is no name",
                                "write small letters, digits, '-' and '.'"});
    }
    auto cluster = co_await attach_to_cluster(context);
    if (cluster.nodes.empty()) {
        co_return context.fail(cluster.errors);
    }
    const auto files = login_files(cluster.spec);
    const auto text = prepare_entries(cluster.spec, files, cluster.nodes,
                                      options.prefix.empty() ? cluster.spec.name.str() : options.prefix);
    if (!text) {
        co_return context.fail(text.error());
    }
    if (options.install) {
        if (const auto installed = files.install(*text); !installed) {
            co_return context.fail(installed.error());
        }
        print_installed(context, files, entry_names(*text));
    } else if (context.json()) {
        context.print_json({{"type", "result"},
                            {"config", *text},
                            {"identity_file", files.key().string()},
                            {"known_hosts", files.known_hosts().string()},
                            {"hosts", entry_names(*text)}});
    } else {
        context.print(*text);
    }
    co_return cluster.errors.empty() ? 0 : context.fail(cluster.errors); // of the nodes that are not there
}

} // namespace

void add_ssh_config(CLI::App& app, Program& program) {
    auto options = std::make_shared<SshConfigOptions>();
    auto* command = describe(
        app.add_subcommand(
            "ssh-config",
            "Let your own ssh, scp, rsync and editors log in to the nodes: prints what ssh needs for it"),
        command_group::nodes, {"dockdist ssh-config", "dockdist ssh-config --install"});
    auto* remove = command->add_flag("--remove", options->remove,
                                     "Remove this cluster's key, host keys and entries from this machine");
    command
        ->add_flag(
            "--install", options->install,
            "Write the entries to a file in ~/.ssh/dockdist, which ~/.ssh/config includes from then on; `up` "
            "keeps it as the cluster is, `down` removes it")
        ->excludes(remove);
    command->add_option("--as", options->prefix, "Call the hosts NAME.NODE (default: the cluster's name)")
        ->type_name("NAME")
        ->excludes(remove);
    command->callback([options, &program] {
        program.work = [options](Context& context) { return run_ssh_config(context, *options); };
    });
}

} // namespace dockdist
