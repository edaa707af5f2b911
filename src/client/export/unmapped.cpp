#include "client/export/export_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 17> option_hints{{
    {"--keep-going", "the scheduler finds nodes that work"},
    {"--share", "the scheduler gives GPUs to one job alone"},
    {"--no-wait", "the scheduler's queue is the wait"},
    {"--wait", "the scheduler's queue is the wait"},
    {"--priority", "ask for it in the scheduler's own words"},
    {"--lease", "the job needs no client"},
    {"--min-nodes", "every restart has all nodes"},
    {"--spares", "the scheduler replaces nodes that fail"},
    {"--stall", "give the job a time limit: --timeout"},
    {"--on-stall", "give the job a time limit: --timeout"},
    {"--idle", "look at the scheduler's own accounting of GPUs"},
    {"--on-idle", "look at the scheduler's own accounting of GPUs"},
    {"--ready", "look at the job's log"},
    {"--report", "look at the scheduler's own accounting"},
    {"--forward", "forward the port with the scheduler's own tools, or ssh"},
    {"--log-limit", "the scheduler keeps the log"},
    {"--log-dir", "the scheduler keeps the log"},
}};

// They say what is exported, or how the client of a job behaves, which an export has none of.
constexpr std::array<std::string_view, 17> understood{
    "--nodes",   "--exclude",    "--gpus", "--launcher", "--via",  "--launcher-arg", "--per-rank",
    "--role",    "--dry-run",    "--env",  "--workdir",  "--name", "--detach",       "--detach-on-hangup",
    "--no-sync", "--no-collect", "--raw"};

void add(std::vector<Asked>& asked, bool wanted, std::string name, std::string hint) {
    if (wanted) {
        asked.push_back({std::move(name), std::move(hint)});
    }
}

void add_container(std::vector<Asked>& asked, const ContainerSpec& container) {
    const ContainerSpec usual;
    add(asked, container.shm_size != usual.shm_size, "container.shm_size", "ask whoever runs the nodes");
    add(asked, container.ipc != usual.ipc, "container.ipc", "ask whoever runs the nodes");
    add(asked, container.ulimits != usual.ulimits, "container.ulimits", "the nodes' own limits hold");
    add(asked, !container.devices_auto || !container.devices.empty(), "container.devices",
        "the nodes' own devices are seen");
    add(asked, !is_root(container.user), "container.user", "the job runs as whoever submits it");
    add(asked, container.privileged, "container.privileged", "run without it");
    add(asked, container.pids_limit != usual.pids_limit, "container.pids_limit",
        "the nodes' own limits hold");
    add(asked, !container.cap_add.empty(), "container.cap_add", "run without them");
    add(asked, container.no_new_privileges.has_value(), "container.no_new_privileges",
        "the engine's own rule holds");
    add(asked, !container.runtime.empty(), "container.runtime", "the engine's own is used");
    add(asked, container.entrypoint == ContainerSpec::Entrypoint::image, "container.entrypoint",
        "begin the command with what the image's entrypoint does");
}

} // namespace

std::vector<Asked> asked_keys(const ClusterSpec& spec) {
    std::vector<Asked> asked;
    add(asked, spec.image.pull != ImageSpec::Pull::missing, "image.pull", "the engine's own rule holds");
    add(asked, !spec.image.platform.empty(), "image.platform", "ask for nodes of that kind");
    add(asked, !spec.image.from.empty() && !spec.image.build, "image.from",
        "push the image to a registry that the nodes reach");
    add(asked, spec.image.build.has_value(), "image.build",
        "build the image, and push it to a registry that the nodes reach");
    add_container(asked, spec.container);
    const bool interface =
        std::ranges::any_of(spec.hosts, [](const auto& host) { return !host.interface.empty(); });
    add(asked, interface, "hosts.interface", "where NCCL takes a wrong one: --env NCCL_SOCKET_IFNAME=NAME");
    add(asked, spec.ssh.port.has_value(), "ssh.port", "nodes have no sshd of dockdist's");
    add(asked, !spec.network.subnets.empty(), "network.subnet",
        "where NCCL takes a wrong network: --env NCCL_SOCKET_IFNAME=NAME");
    add(asked, spec.network.rdma != NetworkSpec::Rdma::automatic, "network.rdma",
        spec.network.rdma == NetworkSpec::Rdma::off ? "--env NCCL_IB_DISABLE=1 does what `off` does"
                                                    : "--env NCCL_NET=IB keeps NCCL from going over TCP");
    add(asked, !spec.sync.empty(), "sync",
        "the code has to be in the image, or on a file system of all nodes");
    add(asked, !spec.setup.empty(), "setup", "do it in the image");
    add(asked, !spec.data.empty(), "data", "the data has to be where the nodes see it");
    add(asked, !spec.collect.empty(), "collect", "write results to a file system that you see");
    add(asked, spec.min_nodes > 0, "min_nodes", "every restart has all nodes");
    add(asked, spec.spares > 0, "spares", "the scheduler replaces nodes that fail");
    add(asked, spec.idle.after.count() > 0, "idle", "look at the scheduler's own accounting of GPUs");
    return asked;
}

std::vector<Asked> asked_options(const ExportJob& job) {
    std::vector<Asked> asked;
    for (const auto& option : job.given) {
        if (std::ranges::find(understood, option) != understood.end()) {
            continue;
        }
        const auto* hint =
            std::ranges::find(option_hints, option, &std::pair<std::string_view, std::string_view>::first);
        asked.push_back({option, hint == option_hints.end() ? "leave it out" : std::string(hint->second)});
    }
    return asked;
}

bool is_root(std::string_view user) {
    const auto name = user.substr(0, user.find(':'));
    return name.empty() || name == "root" || name == "0";
}

Errors unmapped(const ExportJob& job, const std::string& engine, const std::set<std::string>& mapped) {
    auto asked = asked_keys(job.spec);
    std::ranges::move(asked_options(job), std::back_inserter(asked));
    if (job.env_differs) {
        asked.push_back(
            {"hosts.env", "a scheduler's nodes are not the file's hosts: set it for all in container.env"});
    }
    Errors warnings;
    if (job.mig) {
        warnings.push_back(
            {ErrorKind::config, "`hosts.gpus`",
             fmt::format("{} is asked for whole GPUs, as many as the file has MIG instances", engine),
             "where its nodes have such: --sbatch=--gpus-per-node=1g.10gb:2, or the resource "
             "nvidia.com/mig-1g.10gb in the manifest"});
    }
    for (const auto& [name, hint] : asked) {
        if (!mapped.contains(name)) {
            const bool option = name.starts_with("--");
            warnings.push_back({option ? ErrorKind::usage : ErrorKind::config,
                                option ? name : "`" + name + "`",
                                "it has no counterpart in " + engine + ", and is left out", hint});
        }
    }
    return warnings;
}

} // namespace dockdist
