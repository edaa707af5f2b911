// Where things stand inside a node. The toolkit is a read-only volume; everything a node makes for itself is
// on a tmpfs that goes with the container; what jobs leave is in a volume of the node's own.
#pragma once

namespace dockdist::layout {

inline constexpr const char* toolkit = "/opt/dockdist"; // the volume
inline constexpr const char* toolkit_bin =
    "/opt/dockdist/bin"; // first in PATH: ssh, scp, pdsh, rsync, dockdist-init…
inline constexpr const char* init =
    "/opt/dockdist/bin/dockdist-init"; // a link that is the tar's last entry: there = complete
inline constexpr const char* init_usage =
    "dockdist-init: the part of dockdist";          // what it says first, asked for what it does not know
inline constexpr const char* run = "/run/dockdist"; // tmpfs, 0755
inline constexpr const char* environment =
    "/run/dockdist/environ"; // the container's environment, NUL-separated
inline constexpr const char* node_record =
    "/run/dockdist/node.json"; // wire::NodeRecord of this node, once joined
inline constexpr const char* members = "/run/dockdist/members.json"; // wire::Members
inline constexpr const char* hostfile =
    "/run/dockdist/hostfile"; // DeepSpeed's and Open MPI's dialect: NAME slots=N
inline constexpr const char* store = "/var/lib/dockdist/store";     // the node's own volume, 0700 root
inline constexpr const char* jobs = "/var/lib/dockdist/store/jobs"; // one folder a job
inline constexpr const char* incoming_jobs =
    "/var/lib/dockdist/store/incoming"; // what `up` brings of the node before, until `job adopt` has taken it
inline constexpr const char* setup =
    "/var/lib/dockdist/setup"; // a file for each line of `setup:` that root has run; users/UID: of others
// What stands below it all nodes of a host share, and root of any of them writes there: a tmpfs of the
// node's own, 0700 from the beginning, so that no other account gets as far as what he has left there.
inline constexpr const char* shared = "/var/lib/dockdist/shared";
inline constexpr const char* gpus =
    "/var/lib/dockdist/shared/gpus"; // a volume: who holds which GPU, shared/gpu/board.hpp

// The user and group as whom programs of an image run that are root's to ask and whom nobody else may lead,
// as nvidia-smi. No image has it; low enough for engines whose users have 65,536 ids.
inline constexpr unsigned id_apart = 64986;

} // namespace dockdist::layout
