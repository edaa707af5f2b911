// What the launchers share.
#pragma once

#include "shared/launch/launcher.hpp"

#include <initializer_list>

namespace dockdist {

// One a file of this folder.
Result<std::vector<NodeLaunch>> launch_plain(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_torchrun(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_torch_distributed(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_deepspeed(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_accelerate(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_mpirun(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_horovodrun(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_ray(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_slurm(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_jax(const LaunchRequest& request);
Result<std::vector<NodeLaunch>> launch_tensorflow(const LaunchRequest& request);

std::vector<Tool> torchrun_tools(const LaunchRequest& request);
std::vector<Tool> deepspeed_tools(const LaunchRequest& request);
std::vector<Tool> accelerate_tools(const LaunchRequest& request);
std::vector<Tool> mpirun_tools(const LaunchRequest& request);
std::vector<Tool> horovodrun_tools(const LaunchRequest& request);
std::vector<Tool> ray_tools(const LaunchRequest& request);
std::vector<Tool> jax_tools(const LaunchRequest& request);
std::vector<Tool> tensorflow_tools(const LaunchRequest& request);
Errors ray_warnings(const LaunchRequest& request);
Status check_accelerate(const LaunchRequest& request);
Status check_tensorflow(const LaunchRequest& request);
int tensorflow_ports(const LaunchRequest& request);

// Launches for every node, without argv: ranks counted, rank_command set, and in the environment what every
// launcher gives: MASTER_ADDR, MASTER_PORT, NODE_RANK, NNODES.
std::vector<NodeLaunch> ranks_on_every_node(const LaunchRequest& request);
// The same, started by dockdist-init's own spawner: nothing is asked of the image.
std::vector<NodeLaunch> on_every_slot(const LaunchRequest& request);
std::map<std::string, std::string> common_env(const LaunchRequest& request, std::size_t node_rank);
int ranks_of(const LaunchRequest& request, const LaunchNode& node);
int world_size(const std::vector<NodeLaunch>& launches);

// The ranks that are counted there, by the spawner.
void spawn_ranks(std::vector<NodeLaunch>& launches);

// The end of every launcher's command: the user's own options for it, `before` (its word for "no Python
// script"), and what it starts as a rank.
void append_rank(std::vector<std::string>& argv, const std::vector<std::string>& options,
                 std::initializer_list<std::string> before = {});

// "train.py …" and "-m package …" as Python programs run them; anything else stays as it is.
std::vector<std::string> as_python_command(const std::vector<std::string>& command);
// Behind the script, or the module, of a Python command: where launchers put `--local_rank=N`. -1: it is
// none, and would not know the word.
int behind_script(const std::vector<std::string>& command);

// "NAME slots=N" lines over the job's nodes: DeepSpeed's and Open MPI's dialect.
std::string slots_hostfile(const std::vector<NodeLaunch>& launches);

// Makes the first node's part the one that counts, and the others hosts of the ranks that it starts there.
void start_from_first_node(std::vector<NodeLaunch>& launches, std::vector<std::string> argv);

// What Open MPI's btl_tcp_if_include takes: the interface where all nodes call it the same, else addresses.
// Of IPv6 it reads none (tried: 5.0.7 ends the job), nor a name that a node does not have: then empty.
std::string interface_selector(const LaunchRequest& request);
bool is_ipv6(const LaunchNode& node); // its address

// "pdsh, openmpi".
std::string list_of(std::span<const std::string_view> names);

// A file in the job's own folder on its nodes.
std::string in_scratch(const LaunchRequest& request, std::string_view name);

} // namespace dockdist
