#include "shared/launch/launcher.hpp"

#include "shared/core/text.hpp"
#include "shared/launch/accelerate_settings.hpp"
#include "shared/launch/common.hpp"
#include "shared/launch/launch_line.hpp"
#include "shared/launch/launcher_names.hpp"

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

constexpr std::array<std::string_view, 2> deepspeed_vias{"pdsh", "openmpi"};
constexpr std::array<std::string_view, 1> accelerate_vias{"pdsh"};
constexpr std::array<std::string_view, 2> mpirun_vias{"openmpi", "mpich"};

// The defaults of torchrun's options, of which accelerate starts one (torch/distributed/argparse_util.py:
// PET_ and the option's name). An image for Kubeflow's operator, or a pod's environment that was taken over,
// has them.
constexpr std::array<std::string_view, 24> torchrun_defaults{"PET_NNODES",
                                                             "PET_NPROC_PER_NODE",
                                                             "PET_RDZV_BACKEND",
                                                             "PET_RDZV_ENDPOINT",
                                                             "PET_RDZV_ID",
                                                             "PET_RDZV_CONF",
                                                             "PET_STANDALONE",
                                                             "PET_MAX_RESTARTS",
                                                             "PET_MONITOR_INTERVAL",
                                                             "PET_START_METHOD",
                                                             "PET_ROLE",
                                                             "PET_MODULE",
                                                             "PET_NO_PYTHON",
                                                             "PET_RUN_PATH",
                                                             "PET_LOG_DIR",
                                                             "PET_REDIRECTS",
                                                             "PET_TEE",
                                                             "PET_LOCAL_RANKS_FILTER",
                                                             "PET_NODE_RANK",
                                                             "PET_MASTER_ADDR",
                                                             "PET_MASTER_PORT",
                                                             "PET_LOCAL_ADDR",
                                                             "PET_LOGS_SPECS",
                                                             "PET_EVENT_LOG_HANDLER"};

constexpr std::array table{
    Launcher{.name = "plain",
             .summary = "the command once on each node; with --per-rank once on every slot",
             .launch = launch_plain},
    Launcher{.name = "torchrun",
             .summary = "torch.distributed ranks on every slot, static rendezvous, no ssh",
             .steered_by = torchrun_defaults,
             .ranks_are_torchs = true,
             .trains = true,
             .tools = torchrun_tools,
             .launch = launch_torchrun},
    Launcher{.name = "torch.distributed.launch",
             .summary = "the same, for scripts that want --local_rank",
             .steered_by = torchrun_defaults,
             .ranks_are_torchs = true,
             .trains = true,
             .tools = torchrun_tools,
             .launch = launch_torch_distributed},
    Launcher{.name = "deepspeed",
             .summary = "DeepSpeed's own launcher on each node, no ssh; --via pdsh or openmpi as by hand",
             .vias = deepspeed_vias,
             .ranks_are_torchs = true,
             .trains = true,
             .tools = deepspeed_tools,
             .launch = launch_deepspeed},
    Launcher{.name = "accelerate",
             .summary = "accelerate on each node, configured for the cluster; --via pdsh: with DeepSpeed",
             .vias = accelerate_vias,
             .steered_by = torchrun_defaults,
             .ranks_are_torchs = true,
             .trains = true,
             .tools = accelerate_tools,
             .launch = launch_accelerate,
             .check = check_accelerate,
             .question = ask_settings,
             .warnings = settings_warnings},
    Launcher{.name = "mpirun",
             .summary = "Open MPI or MPICH; --via openmpi or mpich where an image has both",
             .vias = mpirun_vias,
             .ranks_are_torchs = true,
             .tools = mpirun_tools,
             .launch = launch_mpirun},
    Launcher{.name = "horovodrun",
             .summary = "Horovod over gloo",
             .trains = true,
             .tools = horovodrun_tools,
             .launch = launch_horovodrun},
    Launcher{.name = "ray",
             .summary = "a Ray cluster over the nodes for as long as the command runs, on the first one",
             .ports = 2,
             .tools = ray_tools,
             .launch = launch_ray,
             .warnings = ray_warnings},
    Launcher{.name = "slurm",
             .summary = "every slot with SLURM_*, as under srun",
             .ranks_are_torchs = true,
             .launch = launch_slurm},
    Launcher{.name = "jax",
             .summary = "every slot with what `jax.distributed.initialize()` looks for",
             .trains = true,
             .tools = jax_tools,
             .launch = launch_jax},
    Launcher{.name = "tensorflow",
             .summary =
                 "a worker on each node with TF_CONFIG; --role ps=1: with a chief and parameter servers",
             .one_a_node = true,
             .has_roles = true,
             .trains = true,
             .ports_everywhere = true,
             .tools = tensorflow_tools,
             .launch = launch_tensorflow,
             .check = check_tensorflow,
             .ports_for = tensorflow_ports},
};

constexpr bool is_whole_list(std::span<const Launcher> launchers) {
    return launchers.size() == launcher_names.size() &&
           std::ranges::all_of(launcher_names, [launchers](std::string_view name) {
               return std::ranges::find(launchers, name, &Launcher::name) != launchers.end();
           });
}
static_assert(is_whole_list(table), "a launcher is missing here or in shared/launch/launcher_names.hpp");

// `what` is asked for on each node.
Status check_ranks(const LaunchRequest& request, std::string_view what) {
    for (const auto& node : request.nodes) {
        const int ranks = ranks_of(request, node);
        if (ranks < 1) {
            return Error{ErrorKind::usage, node.name.str(), "no slot to start a rank in",
                         "set `slots` for the host, or --gpus"};
        }
        if (node.gpus > 0 && ranks > node.gpus) {
            return Error{ErrorKind::usage, node.name.str(),
                         std::to_string(ranks) + " " + std::string(what) +
                             " were asked for, and the node has " + std::to_string(node.gpus) +
                             (node.gpus == 1 ? " GPU" : " GPUs"),
                         "use --gpus " + std::to_string(node.gpus) + " or less"};
        }
    }
    return ok;
}

} // namespace

std::span<const Launcher> launchers() {
    return table;
}

Result<Launcher> find_launcher(std::string_view name) {
    const auto* found = std::ranges::find(table, name, &Launcher::name);
    if (found != table.end()) {
        return *found;
    }
    std::vector<std::string_view> names;
    for (const auto& launcher : table) {
        names.push_back(launcher.name);
    }
    const auto meant = nearest(name, names);
    return Error{ErrorKind::usage, "", "unknown launcher `" + printable(name) + "`",
                 meant.empty() ? "launchers: " + list_of(names) : "did you mean `" + meant + "`?"};
}

int ports_of(const Launcher& launcher, const LaunchRequest& request) {
    return launcher.ports_for == nullptr ? launcher.ports : launcher.ports_for(request);
}

Status check_request(const Launcher& launcher, const LaunchRequest& request) {
    const std::string name(launcher.name);
    const bool plain = launcher.launch == launch_plain;
    if (!request.via.empty() && std::ranges::find(launcher.vias, request.via) == launcher.vias.end()) {
        return Error{ErrorKind::usage, "--via",
                     "the launcher " + name + " does not support `" + printable(request.via) + "`",
                     launcher.vias.empty() ? "leave --via out" : "it supports: " + list_of(launcher.vias)};
    }
    if (request.per_rank && !plain) {
        return Error{ErrorKind::usage, "--per-rank", "the launcher " + name + " always starts ranks",
                     "leave --per-rank out"};
    }
    if (const auto line = launch_line(request.command); line && !plain) {
        return Error{ErrorKind::usage, "",
                     "the launcher " + name + " would start `" + printable(line->program) + "` in every rank",
                     "leave it and its options out: `--launcher LAUNCHER -- train.py …`; or run your own "
                     "launch line on one node: `--launcher plain --nodes 1 -- " +
                         printable(line->program) + " …`"};
    }
    if (launcher.check != nullptr) {
        if (auto checked = launcher.check(request); !checked) {
            return checked;
        }
    }
    if (!launcher.has_roles && !request.roles.empty()) {
        return Error{ErrorKind::usage, "--role", "the launcher " + name + " has no roles",
                     "leave --role out, or take --launcher tensorflow"};
    }
    return ok;
}

Status check_slots(const Launcher& launcher, const LaunchRequest& request) {
    // --gpus says then how many that one has
    const bool one_a_node = launcher.one_a_node || (launcher.launch == launch_plain && !request.per_rank);
    return one_a_node && !request.ranks_per_node ? Status(ok)
                                                 : check_ranks(request, one_a_node ? "GPUs" : "ranks");
}

} // namespace dockdist
