#include "node/boot/wrappers.hpp"

#include "node/session/host_name.hpp"
#include "node/session/pdsh_targets.hpp"
#include "node/session/pkill.hpp"
#include "node/session/scontrol.hpp"
#include "node/session/ssh_target.hpp"
#include "node/system/clean_environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/job.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <unistd.h>

namespace dockdist::node {
namespace {

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
    auto words = arguments;
    if (name == "ssh") {
        program = place.ssh;
        words = ssh_arguments(arguments);
    } else if (name == "scp" || name == "sftp") {
        program = name == "scp" ? place.scp : place.sftp;
        argv.insert(argv.end(), {"-S", place.ssh_wrapper});
    }
    argv.insert(argv.end(), words.begin(), words.end());
    auto environment = Environment::own();
    remove_loader_variables(environment);
    return exec_path(program, argv, environment);
}

// It looks for its own file by argv[0], and loads no module that others than that file's owner or root could
// have changed; hence the whole path.
int run_pdsh(const std::vector<std::string>& arguments) {
    const auto& place = paths();
    auto environment = environment_with_ssh();
    const auto node_at = [](const std::string& host, int port) {
        return node_of_ssh({"-p", std::to_string(port), "--", host});
    };
    if (const auto complaint =
            complaint_about_ports(arguments, environment.get("WCOLL").value_or(""), node_at)) {
        (void)write_all(STDERR_FILENO, "pdsh: " + *complaint + "\n");
        return exit_codes::failed;
    }
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

// Between nodes there is nothing to copy.
int run_ssh_copy_id(const std::vector<std::string>& arguments) {
    if (const auto node = node_of_ssh(ssh_line_of_copy_id(arguments)); !node.empty()) {
        return write_all(STDERR_FILENO,
                         "ssh-copy-id: not needed: " + node +
                             " lets in every node of this cluster, by keys that dockdist made\n")
                   ? 0
                   : exit_codes::failed;
    }
    return run_images_own("ssh-copy-id", arguments, exit_codes::not_found,
                          "ssh-copy-id: not found in this image; between the nodes of this cluster it is not "
                          "needed");
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
    return run_images_own(
        "scontrol", arguments, 1,
        "scontrol: there is no Slurm here; dockdist's stand-in supports only `scontrol show` with "
        "hostnames, hostlist, job and node, `ping` and `version`");
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
                          "hostname: this image has none; dockdist's stand-in supports only `hostname` and "
                          "`hostname -I`");
}

} // namespace

bool is_wrapper(const std::string& name) {
    static constexpr std::array<std::string_view, 10> names{
        "ssh", "scp", "sftp", "ssh-keygen", "ssh-copy-id", "pdsh", "rsync", "scontrol", "pkill", "hostname"};
    return std::ranges::find(names, name) != names.end();
}

std::string image_program(const std::string& name, const Environment& environment) {
    for (const auto& folder : split(environment.get("PATH").value_or(default_path), ':')) {
        const auto candidate = folder + "/" + name;
        char real[PATH_MAX] = {};
        if (folder != layout::toolkit_bin && may_run(candidate) &&
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
    if (name == "ssh-copy-id") {
        return run_ssh_copy_id(arguments);
    }
    if (name == "hostname") {
        return run_hostname_or_images_own(arguments);
    }
    return name == "scontrol" ? run_scontrol_or_images_own(arguments) : run_openssh(name, arguments);
}

} // namespace dockdist::node
