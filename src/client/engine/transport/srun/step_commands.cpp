#include "client/engine/transport/srun/step_commands.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {

// What `sh` runs on a node of an allocation; and here, before a step that is to have GPUs.

// $1 bytes of dockdist-init, $2 what the tunnel asks for, $3 the machine that it is made for, $4 what is said
// before it begins. A folder may forbid that programs of it run (noexec), so one is tried.
extern const char* const tunnel_step_sh;

// $1 the folder: under /tmp, which is everybody's. The lock is not handed to Podman, whose containers would
// keep it. The containers end with the step, which Slurm ends with the allocation: their monitors have left
// its process tree, so that they are not ended by that alone. Those of another allocation of the same user on
// the same node are in the same store, and stay.
extern const char* const engine_step_sh;

// $1 the job, $2 the node, and then srun's words, of which the first is srun: all of the job's GPUs on that
// node become the step's, since a site may let a step see no other ones. Without scontrol's answer, none.
extern const char* const with_gpus_sh;

namespace {

// What the allocation's own environment says of its steps does not hold for ours: one task with all that the
// job has on the node (SRUN_CPUS_PER_TASK would make it few processors, SLURM_GPUS as many GPUs as the whole
// job has), no container, and the environment as it is here.
constexpr std::array not_for_steps{"SLURM_LABELIO",         "SLURM_NTASKS_PER_NODE",
                                   "SLURM_NTASKS_PER_CORE", "SLURM_NTASKS_PER_SOCKET",
                                   "SLURM_NTASKS_PER_GPU",  "SLURM_NTASKS_PER_TRES",
                                   "SLURM_CPUS_PER_TASK",   "SRUN_CPUS_PER_TASK",
                                   "SLURM_CPUS_PER_GPU",    "SLURM_MEM_PER_GPU",
                                   "SLURM_TRES_PER_TASK",   "SLURM_GPUS",
                                   "SLURM_GPUS_PER_SOCKET", "SLURM_GPUS_PER_TASK",
                                   "SLURM_GPU_BIND",        "SLURM_CPU_BIND",
                                   "SLURM_MEM_BIND",        "SLURM_EXACT",
                                   "SLURM_EXCLUSIVE",       "SLURM_HINT",
                                   "SLURM_DISTRIBUTION",    "SLURM_GRES",
                                   "SLURM_STEP_GRES",       "SLURM_HOSTFILE",
                                   "SLURM_CONTAINER",       "SRUN_CONTAINER",
                                   "SLURM_BCAST",           "SLURM_EXPORT_ENV",
                                   "SRUN_EXPORT_ENV"};

std::vector<std::string> in_clean_environment(std::vector<std::string> words) {
    std::vector<std::string> command{"env"};
    for (const auto* variable : not_for_steps) {
        command.insert(command.end(), {"-u", variable});
    }
    std::ranges::move(words, std::back_inserter(command));
    return command;
}

// stdout passes through a terminal device in raw mode with --unbuffered; without it, whole lines only come.
std::vector<std::string> srun_words(const SlurmPlace& place, const std::string& name, const char* script,
                                    std::vector<std::string> arguments) {
    std::vector<std::string> words{"srun",
                                   "--jobid=" + place.job,
                                   "--overlap",
                                   "--nodes=1",
                                   "--ntasks=1",
                                   "--nodelist=" + place.node,
                                   "--job-name=" + name,
                                   "--chdir=/",
                                   "--mpi=none",
                                   "--input=all",
                                   "--output=all",
                                   "--error=all",
                                   "--unbuffered",
                                   "--quiet",
                                   "--immediate=20",
                                   "sh",
                                   "-c",
                                   script,
                                   "dockdist"};
    std::ranges::move(arguments, std::back_inserter(words));
    return words;
}

// Without GPUs: of a job that has asked for a number in all (--gpus), a step that says nothing asks for as
// many on its one node.
std::vector<std::string> short_step(const SlurmPlace& place, const char* script,
                                    std::vector<std::string> arguments) {
    auto words = srun_words(place, "dockdist", script, std::move(arguments));
    words.insert(words.begin() + 1, "--gres=none");
    return in_clean_environment(std::move(words));
}

// What failed comes first, "srun: error: …" or "slurmstepd-n1: error: …", and then what is done about it.
std::string telling_line(std::string_view complaints) {
    std::string last;
    for (const auto& line : split(complaints, '\n')) {
        std::string_view words = line;
        words = words.substr(0, words.find_last_not_of(" \r\t") + 1);
        for (const std::string_view before : {"error: ", "dockdist: "}) {
            if (const auto at = words.find(before); at != std::string_view::npos) {
                return printable(words.substr(at + before.size()));
            }
        }
        last = words.empty() ? last : printable(words);
    }
    return last;
}

bool holds_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](auto word) { return text.find(word) != std::string_view::npos; });
}

} // namespace

Result<SlurmPlace> slurm_place(const EngineAddress& address, std::string_view job) {
    if (job.empty()) {
        return Error{ErrorKind::config, "",
                     fmt::format("{} is reached from inside a Slurm allocation only, and this is none "
                                 "(SLURM_JOB_ID is not set)",
                                 address.url),
                     "run dockdist in `salloc --nodes=N …`, or in a script for `sbatch`"};
    }
    if (!std::ranges::all_of(job, [](char c) { return c >= '0' && c <= '9'; })) {
        return Error{ErrorKind::config, "",
                     fmt::format("SLURM_JOB_ID is '{}', which is not a job's number", printable(job)),
                     "a job of several components (heterogeneous) is not supported"};
    }
    return SlurmPlace{.job = std::string(job), .node = address.host};
}

std::vector<std::string> tunnel_step(const SlurmPlace& place, const wire::TunnelAsk& ask,
                                     std::size_t program_size, std::string_view machine) {
    return short_step(place, tunnel_step_sh,
                      {std::to_string(program_size), wire::tunnel_ask(ask), std::string(machine),
                       std::string(tunnel_begins)});
}

std::vector<std::string> engine_step(const SlurmPlace& place, const std::string& folder) {
    auto words = srun_words(place, "dockdist-engine", engine_step_sh, {folder});
    // A site may bind tasks to cores, and the containers would be bound with it.
    words.insert(words.begin() + 1, "--cpu-bind=none");
    std::vector<std::string> command{"sh", "-c", with_gpus_sh, "dockdist", place.job, place.node};
    std::ranges::move(words, std::back_inserter(command));
    return in_clean_environment(std::move(command));
}

std::vector<std::string> engine_log_step(const SlurmPlace& place, const std::string& folder) {
    return short_step(place, "tail -c 2000 \"$1/log\"", {folder});
}

std::string engine_folder(const SlurmPlace& place, uid_t user) {
    return fmt::format("/tmp/dockdist-engine-{}-{}", user, place.job);
}

std::string engine_socket(const std::string& folder) {
    return folder + "/podman.sock";
}

// As tunnel_step.sh says it.
std::string other_machine(std::string_view complaints) {
    constexpr std::string_view before = "dockdist: the node's architecture is ";
    const auto begin = complaints.find(before);
    if (begin == std::string_view::npos) {
        return "";
    }
    const auto rest = complaints.substr(begin + before.size());
    return std::string(rest.substr(0, rest.find(',')));
}

bool allocation_ended(std::string_view complaints) {
    return holds_any(complaints, {"Invalid job id", "already completing", "expired", "CANCELLED",
                                  "Force Terminated", "has been revoked", "Job/step"});
}

Error step_error(const SlurmPlace& place, std::string_view what, std::string_view complaints) {
    const auto line = telling_line(complaints);
    Error error{ErrorKind::unreachable, "",
                fmt::format("{} on {}{}{}", what, place.node, line.empty() ? "" : ": ", line),
                fmt::format("try it by hand: srun --jobid={} --overlap -N1 -n1 -w {} hostname", place.job,
                            place.node)};
    if (complaints.starts_with("env: ") && holds_any(complaints, {"srun"})) {
        error.message =
            fmt::format("there is no program srun on this machine, which leads to {}", place.node);
        error.hint = "run dockdist where Slurm's commands are: a login node, or a node of the allocation";
    } else if (allocation_ended(complaints)) {
        error.hint = fmt::format(
            "has allocation {0} ended (time limit, scancel, preemption)? `squeue -j {0}` tells", place.job);
    } else if (holds_any(complaints, {"Requested node configuration is not available", "Invalid node name",
                                      "not in this job", "Invalid partition", "node(s) not in"})) {
        error.hint =
            fmt::format("is {} a node of the allocation? `scontrol show hostnames` lists them", place.node);
    }
    return error;
}

Error socket_refusal(const EngineAddress& address, const std::string& path,
                     const wire::TunnelFailure& failure) {
    using Kind = wire::TunnelFailure::Kind;
    const bool own = address.scheme == EngineAddress::Scheme::srun_podman;
    const auto instead =
        own ? std::string()
            : fmt::format("; srun+podman://{} starts an engine of your own (rootless Podman) instead",
                          address.host);
    Error error{ErrorKind::unreachable, "", "", ""};
    switch (failure.kind) {
    case Kind::no_socket:
        error.message = fmt::format("no socket at {} on {}", path, address.host);
        error.hint = "is Docker installed and running there? another socket is named by "
                     "srun://NODE/PATH" +
                     instead;
        break;
    case Kind::refused:
        error.message = fmt::format("nothing listens on {} on {}", path, address.host);
        error.hint = "the engine there has stopped" + instead;
        break;
    case Kind::denied:
        error.message =
            fmt::format("{} on {} may not be used: {}", path, address.host, printable(failure.message));
        error.hint = own ? "somebody else has put it there: remove it, or tell the site's administrators"
                         : "the site decides who may use its Docker (its group docker)" + instead;
        break;
    default:
        error.message =
            fmt::format("no connection to {} on {}: {}", path, address.host, printable(failure.message));
        break;
    }
    return error;
}

} // namespace dockdist
