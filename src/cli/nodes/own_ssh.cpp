#include "cli/nodes/own_ssh.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

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
    std::ifstream file(files.entries());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (const auto& name : entry_names(text)) {
        for (const auto& node : expand_nodes(spec)) {
            if (const auto end = "." + node.name.str(); name.ends_with(end)) {
                return name.substr(0, name.size() - end.size());
            }
        }
    }
    return spec.name.str();
}

} // namespace

LoginFiles login_files(const ClusterSpec& spec) {
    return {login_places(client_environment), spec.name.str(), real_file(spec)};
}

SshNode ssh_node(const ReadyNode& node) {
    return {.node = node.name.str(), .user = node.record.user, .host_key = node.record.host_key};
}

Result<std::string> prepare_entries(const ClusterSpec& spec, const LoginFiles& files,
                                    const std::vector<ReadyNode>& nodes, const std::string& prefix) {
    SshEntries entries{.prefix = prefix,
                       .cluster = spec.name.str(),
                       .program = own_program(),
                       // Not what is behind a link: paths in the file are relative to where it is named.
                       .file = std::filesystem::absolute(spec.file).string(),
                       .state_home = files.places().state_home,
                       .key = files.key().string(),
                       .known_hosts = files.known_hosts().string()};
    std::ranges::transform(nodes, std::back_inserter(entries.nodes), ssh_node);
    auto text = ssh_entries(entries);
    if (!text) {
        return text;
    }
    if (const auto key = files.make_key(); !key) {
        return key.error();
    }
    if (const auto written = files.write_known_hosts(entries.nodes); !written) {
        return written.error();
    }
    return text;
}

void renew_installed_entries(const Context& context, const ClusterSpec& spec,
                             const std::vector<ReadyNode>& nodes) {
    const auto files = login_files(spec);
    if (!files.installed()) {
        return;
    }
    const auto text = prepare_entries(spec, files, nodes, installed_prefix(files, spec));
    const auto done = text ? files.install(*text) : Status(text.error());
    if (!done) {
        context.warn({done.error()});
    }
}

void remove_login(const Context& context, const ClusterSpec& spec) {
    const auto removed = login_files(spec).remove();
    if (!removed) {
        context.warn({removed.error()});
    } else if (*removed) {
        context.reporter->on(
            {.kind = Event::Kind::note,
             .text = spec.name.str() + "'s ssh key, host keys and entries were removed from this machine"});
    }
}

} // namespace dockdist
