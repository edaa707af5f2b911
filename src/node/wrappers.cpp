#include "node/wrappers.hpp"

#include "node/environment.hpp"
#include "node/node_files.hpp"
#include "node/os.hpp"
#include "node/paths.hpp"
#include "node/process.hpp"

namespace dockdist::node {
namespace {

// Options of OpenSSH's ssh that take a value.
constexpr std::string_view valued_options = "BbcDEeFIiJLlmOoPpQRSWw";

std::string host_part(std::string_view destination) {
    if (destination.starts_with("ssh://")) {
        destination.remove_prefix(6);
        destination = destination.substr(0, destination.find('/'));
        const auto at = destination.rfind('@');
        destination = at == std::string_view::npos ? destination : destination.substr(at + 1);
        return std::string(destination.substr(0, destination.rfind(':')));
    }
    const auto at = destination.rfind('@');
    return std::string(at == std::string_view::npos ? destination : destination.substr(at + 1));
}

} // namespace

bool is_wrapper(const std::string& name) {
    return name == "ssh" || name == "scp" || name == "sftp" || name == "ssh-keygen";
}

std::string ssh_destination(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto& word = arguments[i];
        if (word == "--") {
            return i + 1 < arguments.size() ? host_part(arguments[i + 1]) : "";
        }
        if (!word.starts_with('-') || word.size() < 2) {
            return host_part(word);
        }
        for (std::size_t k = 1; k < word.size(); ++k) {
            if (word[k] == 'F') {
                return {};
            }
            if (valued_options.find(word[k]) != std::string_view::npos) {
                i += k + 1 == word.size() ? 1 : 0;
                break;
            }
        }
    }
    return {};
}

int run_wrapper(const std::string& name, const std::vector<std::string>& arguments) {
    const auto& place = paths();
    std::vector<std::string> argv{name};
    std::string program = place.ssh_keygen;
    if (name == "ssh") {
        program = place.ssh;
        const auto host = ssh_destination(arguments);
        if (!host.empty() && is_cluster_host(read_file_or_empty(place.ssh_config), host)) {
            argv.insert(argv.end(), {"-F", place.ssh_config});
        }
    } else if (name == "scp" || name == "sftp") {
        program = name == "scp" ? place.scp : place.sftp;
        argv.insert(argv.end(), {"-S", place.ssh_wrapper});
    }
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    auto environment = Environment::own();
    remove_loader_variables(environment);
    return exec_path(program, argv, environment);
}

} // namespace dockdist::node
