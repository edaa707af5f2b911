// ClusterSpec + ObservedCluster → Plan. A pure function: the plan holds every decision, the executor makes
// none.
#pragma once

#include "client/plan/lost_files.hpp"
#include "client/plan/observed.hpp"
#include "client/plan/orphans.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/core/toolkits.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct PullImage {
    std::size_t host = 0; // index into ClusterSpec::hosts
    ImageRef image{};
    std::string cause{};
};

// A job that runs on a node that is removed: ended in good order, on all its nodes.
struct StopJob {
    RunningJob job{};
    std::string cause{};
};

// A node that gets what the container has kept of its jobs (client/cluster/hand_over.hpp).
struct TakesOver {
    NodeName node{};
    ContainerId id{}; // runs, with its store
};

struct RemoveContainer {
    std::size_t host = 0;
    ContainerId id{};
    std::string name{};
    std::string cause{};
    std::optional<TakesOver> takes_over{};
    LostFiles lost{}; // where it was looked for, client/cluster/find_losses.hpp
};

// A node as it was until now. It goes when the new one is ready: until then it keeps all but its name, and
// what must not be there twice, its sshd, ends when the new one has started. When anything fails it comes
// back.
struct ReplacedNode {
    ContainerId id{};
    std::string name{}; // the container's; set_aside_name() where it has been set aside before
    bool runs = false;
};

// A node's container gets its own name back, which an `up` has taken from it that was cut off.
struct RenameContainer {
    std::size_t host = 0;
    ContainerId id{};
    std::string from{}, to{};
    std::string cause{};
};

struct CreateNode {
    std::size_t host = 0;
    NodeSpec node{};
    std::optional<ReplacedNode> replaces{};
    std::string container_name{};
    ContainerConfig config{};
    // What `config` becomes on a host that has no /dev/infiniband: no read of the API tells, but the engine
    // refuses `config` at create. Empty when `config` asks for no RDMA devices.
    std::optional<ContainerConfig> without_rdma{};
    bool tries_imex =
        false;          // both ask for an IMEX channel, and are refused in the same way where there is none
    std::string gpus{}; // "GPU 2, 3: NVLink", where they were chosen
    std::string cause{};
    LostFiles lost{}; // of the one that it replaces; as above
};

// Puts the toolkit into its volume through a container that is made for that, never started, and removed.
struct UploadToolkit {
    std::size_t host = 0;
    std::string architecture{}; // of the toolkit, and of what is to run there
    std::string container_name{};
    ContainerConfig config{};
};

struct StartNode {
    std::size_t host = 0;
    NodeName node{};
    ContainerId id{}; // empty: the container that CreateNode made
    std::string cause{};
    UploadToolkit upload{}; // for when the start shows that the last upload was cut off: no read tells
};

struct JoinNode {
    std::size_t host = 0;
    NodeSpec node{};
    ContainerId id{}; // empty: the container that CreateNode made
    wire::JoinRequest request{};
    std::string machine{};  // the host's own name, as its engine tells it
    std::string cause{};    // where the file wants the node otherwise than it joined, …
    bool elsewhere = false; // … at another place
    wire::NodeSettings settings{};
};

// The image goes there from `image.from`, with no registry.
struct SendImage {
    std::size_t host = 0;
    ImageRef image{};
    std::string cause{};
};

// The image is made where `image.from` says.
struct BuildImage {
    ImageRef image{};
    std::string cause{};
};

struct Plan {
    std::optional<BuildImage> build{};
    std::vector<PullImage> pulls{};
    std::vector<SendImage> sends{};
    std::vector<UploadToolkit> uploads{};
    std::vector<StopJob> stops{}; // only with PlanContext::stop_jobs
    std::vector<RemoveContainer> removals{};
    std::vector<RenameContainer> renames{};
    std::vector<CreateNode> creates{};
    std::vector<StartNode> starts{};
    std::vector<JoinNode> joins{}; // all nodes or none: each needs the others' keys
    std::vector<Orphan> orphans{}; // that are left alone, and told

    bool empty() const {
        return !build && pulls.empty() && sends.empty() && removals.empty() && renames.empty() &&
               creates.empty() && uploads.empty() && starts.empty() && joins.empty();
    }
};

struct PlanContext {
    Toolkits toolkits{};                  // those that this build has
    std::string release{};                // of dockdist: "0.2.0"
    std::string origin{};                 // USER@MACHINE:FILE
    std::string attempt{};                // unique to this `up`
    bool take_over = false;               // a cluster of this name that somebody else made may be changed
    bool stop_jobs = false;               // jobs that are in the way may be ended
    bool pulled = false;                  // what the first plan said about the image has been done
    std::optional<ImageDetails> source{}; // the image where `image.from` says
    bool build = false;                   // `image.build`: it is not there yet
    std::vector<bool> left_out{}; // hosts that it goes on without, which were not observed; empty: none
};

// Errors: conflict when a cluster of that name was made from elsewhere and differs, or when jobs run on what
// would go; config when an engine
// cannot do what the spec asks (engine_abilities.hpp; an image of another architecture, …). All of them at
// once.
struct PlanResult {
    Plan plan{};
    Errors errors{};
    Errors warnings{}; // about hosts that a node is made on
    // What is to be found out before this is the plan; ObservedCluster takes it.
    struct Wanted {
        bool jobs = false;                // running nodes go
        bool members = false;             // nodes that stay get another list of members
        std::vector<std::size_t> looks{}; // hosts whose GPUs have to be known
    } wanted{};
    bool jobs_in_way = false; // all `errors` are jobs that run, or may: PlanContext::stop_jobs would do
};
PlanResult make_plan(const ClusterSpec& spec, const ObservedCluster& observed, const PlanContext& context);

// Drops what the plan says of these hosts.
void leave_out(Plan& plan, const std::vector<bool>& hosts);

// What `dockdist plan` prints: one line an operation with its cause, "nothing to do" when empty.
std::string to_text(const Plan& plan, const ClusterSpec& spec);

std::string container_name(const ClusterName& cluster, const NodeName& node);
std::string set_aside_name(const ClusterName& cluster, const NodeName& node);
std::string lock_name(const ClusterName& cluster); // of the volume and the container, client/cluster/lock.hpp
std::string host_label(const HostSpec& host);      // "node-0 (tcp://10.0.0.1:2375)"
std::string node_label(const NodeName& node, const HostSpec& host); // "node-0.1 on node-0 (tcp://…)"

} // namespace dockdist
