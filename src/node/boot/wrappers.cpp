#include "node/boot/wrappers.hpp"

#include "core/exit_codes.hpp"
#include "core/text.hpp"
#include "node/boot/node_files.hpp"
#include "node/session/host_name.hpp"
#include "node/session/pkill.hpp"
#include "node/session/scontrol.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "wire/job.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <unistd.h>

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

std::vector<std::string> with_name(const std::string& name, const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{name};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return argv;
}

// For a program of the toolkit that starts `ssh`.
Environment environment_with_ssh() {
    auto environment = Environment::own();
    remove_loader_variables(environment);
    environment.set("PATH", with_toolkit_first(environment.get("PATH").value_or(default_path)));
    return environment;
}

int run_openssh(const std::string& name, const std::vector<std::string>& arguments) {
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

// It looks for its own file by argv[0], and loads no module that others than that file's owner or root could
// have changed; hence the whole path.
int run_pdsh(const std::vector<std::string>& arguments) {
    const auto& place = paths();
    auto environment = environment_with_ssh();
    environment.set_default("PDSH_RCMD_TYPE", "ssh");
    if (::access(place.wcoll.c_str(), R_OK) == 0) {
        environment.set_default("WCOLL", place.wcoll);
    }
    return exec_path(place.pdsh, with_name(place.pdsh_wrapper, arguments), environment);
}

// The same at the remote side, where ssh runs `rsync --server`.
int run_rsync(const std::vector<std::string>& arguments) {
    auto own = Environment::own();
    if (const auto program = image_program("rsync", own); !program.empty()) {
        return exec_path(program, with_name("rsync", arguments), own);
    }
    auto environment = environment_with_ssh();
    return exec_path(paths().rsync, with_name("rsync", arguments), environment);
}

// The image's own program of that name, or the complaint where it has none.
int run_images_own(const std::string& name, const std::vector<std::string>& arguments, int code,
                   const std::string& complaint) {
    auto own = Environment::own();
    if (const auto program = image_program(name, own); !program.empty()) {
        return exec_path(program, with_name(name, arguments), own);
    }
    (void)write_all(STDERR_FILENO, complaint + "\n");
    return code;
}

// Within a job only what the job has started; everything else is the image's pkill's.
int run_pkill(const std::vector<std::string>& arguments) {
    if (const auto job = Environment::own().get(wire::job_mark); job && is_pkill_by_pattern(arguments)) {
        return run_pkill_in_job(*job, arguments);
    }
    return run_images_own("pkill", arguments, exit_codes::not_found, "pkill: not found in this image");
}

int run_scontrol_or_images_own(const std::vector<std::string>& arguments) {
    if (const auto code = run_scontrol(arguments)) {
        return *code;
    }
    return run_images_own("scontrol", arguments, 1,
                          "scontrol: there is no Slurm here; dockdist's stand-in knows only `scontrol show "
                          "hostnames [LIST]` and `show hostlist LIST`");
}

int run_hostname_or_images_own(const std::vector<std::string>& arguments) {
    if (const auto code = run_hostname(arguments)) {
        return *code;
    }
    char name[256] = {};
    if (arguments.empty() && image_program("hostname", Environment::own()).empty() &&
        ::gethostname(name, sizeof name - 1) == 0) {
        return write_all(STDOUT_FILENO, std::string(name) + "\n") ? 0 : 1;
    }
    return run_images_own("hostname", arguments, 1,
                          "hostname: this image has none; dockdist's stand-in knows only `hostname` and "
                          "`hostname -I`");
}

} // namespace

bool is_wrapper(const std::string& name) {
    static constexpr std::array<std::string_view, 9> names{"ssh",   "scp",      "sftp",  "ssh-keygen", "pdsh",
                                                           "rsync", "scontrol", "pkill", "hostname"};
    return std::ranges::find(names, name) != names.end();
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

std::string image_program(const std::string& name, const Environment& environment) {
    for (const auto& folder : split(environment.get("PATH").value_or(default_path), ':')) {
        const auto candidate = folder + "/" + name;
        char real[PATH_MAX] = {};
        if (folder != layout::toolkit_bin && is_executable(candidate) &&
            ::realpath(candidate.c_str(), real) != nullptr && real != paths().own) {
            return candidate;
        }
    }
    return {};
}

int run_wrapper(const std::string& name, const std::vector<std::string>& arguments) {
    if (name == "pdsh") {
        return run_pdsh(arguments);
    }
    if (name == "rsync") {
        return run_rsync(arguments);
    }
    if (name == "pkill") {
        return run_pkill(arguments);
    }
    if (name == "hostname") {
        return run_hostname_or_images_own(arguments);
    }
    return name == "scontrol" ? run_scontrol_or_images_own(arguments) : run_openssh(name, arguments);
}

} // namespace dockdist::node
