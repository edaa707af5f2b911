// The labels that make a cluster known on its hosts. dockdist keeps no other record of it.
#pragma once

#include "client/container/types.hpp"

#include <string>

namespace dockdist {

// Empty where there is none of that name.
inline std::string label_of(const Labels& labels, const char* name) {
    const auto found = labels.find(name);
    return found == labels.end() ? std::string() : found->second;
}

} // namespace dockdist

namespace dockdist::labels {

inline constexpr const char* cluster = "dockdist.cluster"; // name
inline constexpr const char* role =
    "dockdist.role"; // "node", "lock", "store"; "upload", "relay", "look" while a command runs
inline constexpr const char* node = "dockdist.node";           // name
inline constexpr const char* rank = "dockdist.rank";           // of the node, when it was made
inline constexpr const char* spec = "dockdist.spec";           // fingerprint of the container's configuration
inline constexpr const char* spec_keys = "dockdist.spec-keys"; // JSON: a hash of each key of the same
inline constexpr const char* version = "dockdist.version";     // of the toolkit
inline constexpr const char* release = "dockdist.release";     // node: of the dockdist that made it, "0.2.0"
inline constexpr const char* wire = "dockdist.wire";           // node: wire::version of its toolkit
// Who made it: USER@MACHINE:FILE. Of an allocation of Slurm, which any of its machines may speak for,
// USER@slurm-job-ID:FILE.
inline constexpr const char* origin = "dockdist.origin";
// Of all that is made for an allocation of Slurm: its id, by which a site's epilog finds what is left of it.
inline constexpr const char* slurm_job = "dockdist.slurm-job";
inline constexpr const char* attempt =
    "dockdist.attempt"; // the `up` that made it: what that one takes back on failure
inline constexpr const char* holder =
    "dockdist.holder"; // lock and look only: JSON of who holds it, see client/cluster/lock.hpp

// node: its GPUs, with commas: the UUIDs that `up` chose for it, or the file's own list, or "all", or "none".
// What has no such label was made by a dockdist that knew no board (layout::gpus).
inline constexpr const char* gpus = "dockdist.gpus";

inline constexpr const char* gpu_volume = "dockdist-gpus"; // one for all clusters of an engine, layout::gpus
inline constexpr const char* toolkit_volume_prefix = "dockdist-toolkit-"; // + version

// The volume in which a node keeps what its jobs leave (layout::store). No name of a cluster or node has a
// '_', so no two nodes share one. (It bears the mark of the `up` that has
// made it, labels::attempt.)
std::string store_volume(const std::string& of_cluster, const std::string& of_node);
Labels store_labels(const std::string& of_cluster, const std::string& of_node, const std::string& by);

std::string allocation_origin(const std::string& user, const std::string& job, const std::string& file);

// What everything bears that dockdist makes on a host for a cluster: in which role, in which `up`, by whom.
Labels common(const std::string& of_cluster, const char* as, const std::string& of_attempt,
              const std::string& by);

} // namespace dockdist::labels
