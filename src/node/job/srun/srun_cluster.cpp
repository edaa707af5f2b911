#include "node/job/srun/srun_cluster.hpp"

#include "node/session/scontrol.hpp"
#include "node/system/environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/join.hpp"

#include <algorithm>

namespace dockdist::node {

Result<SrunCluster> find_srun_cluster(const std::optional<JobPart>& part) {
    const auto members = wire::parse_members(read_file_or_empty(paths().members));
    const auto names = expand_host_list(own_host_list());
    if (!members || !names) {
        return Error{.kind = ErrorKind::not_found,
                     .message = "this is not a node of a dockdist cluster that is up"};
    }
    SrunCluster cluster;
    const int held = part ? part->units : 0;
    for (const auto& name : *names) {
        const auto node = std::ranges::find(members->nodes, name, &wire::NodeRecord::node);
        if (node == members->nodes.end()) {
            return Error{.kind = ErrorKind::not_found,
                         .message =
                             "SLURM_JOB_NODELIST: " + printable(name) + " is not a node of this cluster"};
        }
        cluster.available.push_back({.name = node->node,
                                     .address = node->address,
                                     .slots = held > 0 ? held : node->slots,
                                     .gpus_there = held > 0 && node->gpus > 0 ? held : node->gpus});
        cluster.interfaces[node->node] = node->interface;
    }
    return cluster;
}

std::optional<JobPart> own_part() {
    auto part = load_part(Environment::own().get(wire::job_mark).value_or(""));
    return part ? std::optional(std::move(*part)) : std::nullopt;
}

} // namespace dockdist::node
