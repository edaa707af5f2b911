// JAX: `jax.distributed.initialize()` without arguments takes the coordinator's address from a variable of
// its own, and the rest from Slurm's (jax/_src/distributed.py, clusters/slurm_cluster.py): process, count,
// and the one GPU of the node that is the process's, by its place. The port is the job's, not one made of a
// job's id.
#include "shared/core/ip_address.hpp"
#include "shared/launch/common.hpp"

namespace dockdist {

std::vector<Tool> jax_tools(const LaunchRequest&) {
    return {{Tool::Kind::python_module, "jax", "take an image with JAX, or add it: `pip install jax`"}};
}

Result<std::vector<NodeLaunch>> launch_jax(const LaunchRequest& request) {
    auto launches = launch_slurm(request);
    if (launches) {
        for (auto& launch : *launches) {
            launch.start.env["JAX_COORDINATOR_ADDRESS"] =
                address_and_port(request.nodes.front().address, request.ports.front().number);
        }
    }
    return launches;
}

} // namespace dockdist
