// ssh-config: what the user's own ssh needs to reach the nodes, printed or kept in a file that it reads.
#include "client/cli/line/values.hpp"
#include "client/cli/nodes/own_ssh.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

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
    context.tell(fmt::format("{}: {}, included by ~/.ssh/config\n", files.entries().string(),
                             counted(names.size(), "host")));
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
    const auto removal = remove_of_login(context, loaded.spec, LoginFiles::Entries::remove);
    if (!removal.errors.empty()) {
        co_return context.fail(removal.errors);
    }
    if (context.json()) {
        context.print_json({{"type", "result"}, {"removed", removal.own}});
    } else {
        context.tell(loaded.spec.name.str() + (removal.own
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
        co_return context.fail({ErrorKind::usage, "--as", "`" + printable(options.prefix) + "` is not a name",
                                "use lower-case letters, digits, '-' and '.'"});
    }
    auto cluster = co_await attach_to_cluster(context, {.looks = true});
    if (cluster.nodes.empty()) {
        co_return context.fail(cluster.errors);
    }
    const auto files = login_files(cluster.spec).as_installed();
    auto made = prepare_entries(cluster.spec, files, cluster.nodes,
                                options.prefix.empty() ? cluster.spec.name.str() : options.prefix);
    std::ranges::move(cluster.errors, std::back_inserter(made.errors)); // of the nodes that are not there
    if (made.text.empty()) {
        co_return context.fail(made.errors);
    }
    if (const auto names = needed_variables(cluster.spec); !names.empty()) {
        context.reporter->on(
            {.kind = Event::Kind::note,
             .text = fmt::format("the file is read with {}: whatever starts ssh, an editor "
                                 "say, must have {} set too",
                                 fmt::join(names, ", "), names.size() == 1 ? "it" : "them")});
    }
    if (options.install) {
        if (const auto installed = files.install(made.text); !installed) {
            co_return context.fail(installed.error());
        }
        print_installed(context, files, entry_names(made.text));
    } else if (context.json()) {
        context.print_json({{"type", "result"},
                            {"config", made.text},
                            {"identity_file", files.key().string()},
                            {"known_hosts", files.known_hosts().string()},
                            {"hosts", entry_names(made.text)}});
    } else {
        context.print(made.text);
    }
    co_return made.errors.empty() ? 0 : context.fail(made.errors);
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
            "keeps it up to date, `down` leaves it to the next `up`")
        ->excludes(remove);
    command->add_option("--as", options->prefix, "Call the hosts NAME.NODE (default: the cluster's name)")
        ->type_name("NAME")
        ->excludes(remove);
    command->callback([options, &program] {
        program.one_value = true;
        program.work = [options](Context& context) { return run_ssh_config(context, *options); };
    });
}

} // namespace dockdist
