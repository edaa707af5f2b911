#include "client/cli/nodes/own_ssh.hpp"

#include "client/own_ssh/user_files.hpp"
#include "client/spec/load_spec.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <tuple>

namespace dockdist {
namespace {

// Whose files these are, by whatever links cluster.yaml is named.
std::string real_file(const ClusterSpec& spec) {
    std::error_code failed;
    const auto file = std::filesystem::weakly_canonical(spec.file, failed);
    return (failed ? std::filesystem::absolute(spec.file) : file).string();
}

// As it was called, where that is this program: a link to it outlives the file that a newer version replaces.
std::string own_program() {
    namespace fs = std::filesystem;
    const fs::path self = "/proc/self/exe";
    const std::string called = ::program_invocation_name;
    std::error_code failed;
    std::vector<fs::path> places;
    if (called.find('/') != std::string::npos) {
        places.push_back(fs::absolute(called, failed));
    } else {
        for (const auto& folder : split(client_environment("PATH").value_or(""), ':')) {
            if (folder.starts_with('/')) {
                places.push_back(fs::path(folder) / called);
            }
        }
    }
    for (const auto& place : places) {
        const auto path = place.lexically_normal();
        if (fs::equivalent(path, self, failed) && !failed) {
            return path.string();
        }
    }
    constexpr std::string_view replaced = " (deleted)"; // proc(5): by another file since it was started
    auto program = fs::read_symlink(self, failed).string();
    if (program.ends_with(replaced)) {
        program.erase(program.size() - replaced.size());
    }
    return failed ? "dockdist" : program;
}

// The prefix that installed entries have: it was chosen by --as, perhaps.
std::string installed_prefix(const LoginFiles& files, const ClusterSpec& spec) {
    const auto text = user_files::read_or_empty(files.entries());
    if (const auto prefix = entries_origin(text).prefix; is_plain_name(prefix)) {
        return prefix;
    }
    for (const auto& name : entry_names(text)) { // of entries that do not say it
        for (const auto& node : expand_nodes(spec)) {
            if (const auto end = "." + node.name.str(); name.ends_with(end)) {
                return name.substr(0, name.size() - end.size());
            }
        }
    }
    return spec.name.str();
}

// What contexts go by (client/engine/docker_context.hpp).
constexpr std::array docker_variables{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH",
                                      "DOCKER_TLS_VERIFY"};
// What whoever starts an ssh has as well.
constexpr std::array everybodys_variables{"HOME", "USER", "LOGNAME", "PATH", "SHELL"};

// The file as it would be read without one of the variables that are set here; `names` takes what it asks
// for. Of its secrets it asks for none.
LoadedSpec read_without(const std::string& hidden, const ClusterSpec& spec, std::set<std::string>& names) {
    const auto environment = [&](const std::string& name) {
        auto value = name == hidden ? std::nullopt : client_environment(name);
        if (value) {
            names.insert(name);
        }
        return value;
    };
    return load_spec_file(spec.file, environment, {.resolve_secrets = false});
}

// Whether both lead to the same engines.
bool same_ways(const ClusterSpec& one, const ClusterSpec& other) {
    const auto way = [](const HostSpec& host) {
        return std::tie(host.name, host.docker, host.context, host.tls, host.nodes);
    };
    return one.name == other.name && std::ranges::equal(one.hosts, other.hosts, {}, way, way);
}

// An editor that was not started by a shell has not the shell's variables, and would look elsewhere for the
// key, or for the engine.
std::vector<std::string> carried_variables(const ClusterSpec& spec, const LoginFiles& files) {
    const bool by_context = std::ranges::any_of(
        spec.hosts, [](const HostSpec& host) { return !host.context.empty() || host.use_current_context; });
    std::set<std::string> named;
    (void)read_without("", spec, named);
    std::vector<std::string> carried{"XDG_STATE_HOME=" + files.state_home()};
    for (const std::string name : docker_variables) {
        if (const auto value = client_environment(name); value && (by_context || named.contains(name))) {
            carried.push_back(name + "=" + *value);
        }
    }
    return carried;
}

} // namespace

LoginFiles login_files(const ClusterSpec& spec) {
    return {login_places(client_environment), spec.name.str(), real_file(spec)};
}

SshNode ssh_node(const ReadyNode& node) {
    return {.node = node.name.str(), .user = node.record.user, .host_key = node.record.host_key};
}

PreparedEntries prepare_entries(const ClusterSpec& spec, const LoginFiles& files,
                                const std::vector<ReadyNode>& nodes, const std::string& prefix) {
    SshEntries entries{.prefix = prefix,
                       .cluster = spec.name.str(),
                       .machine = files.places().machine,
                       .program = own_program(),
                       // Not what is behind a link: paths in the file are relative to where it is named.
                       .file = std::filesystem::absolute(spec.file).string(),
                       .environment = carried_variables(spec, files),
                       .key = files.key().string(),
                       .known_hosts = files.known_hosts().string()};
    std::ranges::transform(nodes, std::back_inserter(entries.nodes), ssh_node);
    auto made = ssh_entries(entries);
    if (!made) {
        return {.errors = {made.error()}};
    }
    if (made->nodes.empty()) {
        return {.errors = std::move(made->refused)};
    }
    if (const auto key = files.make_key(); !key) {
        return {.errors = {key.error()}};
    }
    if (const auto written = files.write_known_hosts(made->nodes); !written) {
        return {.errors = {written.error()}};
    }
    return {std::move(made->text), std::move(made->refused)};
}

std::vector<std::string> needed_variables(const ClusterSpec& spec) {
    std::set<std::string> names;
    const auto whole = read_without("", spec, names).spec;
    std::ranges::for_each(docker_variables, [&](const char* name) { names.erase(name); });
    std::ranges::for_each(everybodys_variables, [&](const char* name) { names.erase(name); });
    std::vector<std::string> needed;
    std::ranges::copy_if(names, std::back_inserter(needed), [&](const std::string& name) {
        std::set<std::string> ignored;
        const auto loaded = read_without(name, spec, ignored);
        return !loaded.errors.empty() || !same_ways(loaded.spec, whole);
    });
    return needed;
}

void renew_installed_entries(const Context& context, const ClusterSpec& spec,
                             const std::vector<ReadyNode>& nodes) {
    const auto files = login_files(spec).as_installed();
    if (!files.installed()) {
        return;
    }
    auto made = prepare_entries(spec, files, nodes, installed_prefix(files, spec));
    if (!made.text.empty()) {
        if (const auto done = files.install(made.text); !done) {
            made.errors.push_back(done.error());
        }
    }
    context.warn(made.errors);
}

LoginRemoval remove_of_login(const Context& context, const ClusterSpec& spec, LoginFiles::Entries entries) {
    auto removal = login_files(spec).remove(entries);
    for (const auto& file : removal.orphans) {
        context.reporter->on({.kind = Event::Kind::note,
                              .text = "the ssh key, host keys and entries of " + printable(file) +
                                      ", which no longer exists, were removed from this machine"});
    }
    return removal;
}

void remove_login(const Context& context, const ClusterSpec& spec) {
    const auto removal = remove_of_login(context, spec, LoginFiles::Entries::keep);
    context.warn(removal.errors);
    if (removal.own && removal.errors.empty()) {
        context.reporter->on(
            {.kind = Event::Kind::note,
             .text =
                 spec.name.str() +
                 (removal.kept
                      ? "'s ssh key and host keys were removed from this machine; its entries stay for the "
                        "next `up` (`dockdist ssh-config --remove`)"
                      : "'s ssh key, host keys and entries were removed from this machine")});
    }
}

} // namespace dockdist
