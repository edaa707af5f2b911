// What cluster.yaml says, with every default filled in. Made by load_spec; nothing here is read from a host.
#pragma once

#include "shared/core/engine_address.hpp"
#include "shared/core/error.hpp"
#include "shared/core/names.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct SecretSpec {
    std::string name{};
    std::string value{}; // never printed: no renderer, error or event may hold it
    bool operator==(const SecretSpec&) const = default;
};

// A Dockerfile and what it may copy.
struct BuildSpec {
    std::string context{};                 // a folder on this machine, absolute
    std::string dockerfile = "Dockerfile"; // in the context
    std::string target{};                  // a stage; empty: the last
    std::map<std::string, std::string> args{};
    std::vector<SecretSpec> secrets{}; // of `RUN --mount=type=secret,id=NAME`
    Errors missing{};                  // of these: what is not to be had here; told where a build begins
    bool operator==(const BuildSpec&) const = default;
};

struct ImageSpec {
    enum class Pull { missing, always, never };
    ImageRef ref{};
    Pull pull = Pull::missing;
    std::string platform{}; // "linux/arm64"; empty: the host's own
    std::string from{}; // "local" (this machine's engine) or a host's name; empty: a registry. With `build`,
                        // where it is built, never empty
    std::optional<BuildSpec> build{};
    bool operator==(const ImageSpec&) const = default;
};

// Which GPUs of a host the cluster uses.
struct GpuSpec {
    enum class Kind { all, none, count, devices };
    Kind kind = Kind::all;
    int count = 0;                      // Kind::count
    std::vector<std::string> devices{}; // Kind::devices: indices or UUIDs, or CDI names
    bool amd = false;                   // Kind::all: AMD's, by their devices; else they are NVIDIA's
    bool operator==(const GpuSpec&) const = default;
};

struct HostSpec {
    HostName name{};                  // default: the machine's own, as far as a node can have it
    std::string position_name{};      // "node-0", of a line without a name: what it is called, too
    EngineAddress docker{};           // default port filled in
    std::string context{};            // set instead of docker when the file says `context:`
    bool use_current_context = false; // set instead of both when the file names no hosts
    std::optional<TlsFiles> tls{};
    bool insecure = false; // plain tcp:// beyond loopback was asked for by name
    std::string address{}; // IP or name that peers use; empty for a unix:// host that names none, and where
                           // `subnets` says which: the node finds its own
    std::string given_address{}; // `address` as the file has it; without it the above is `docker`'s host,
                                 // or what this very machine makes of that: another may know another
    std::vector<std::string> subnets{}; // NetworkSpec's; empty where the host names its address
    GpuSpec gpus{};
    std::optional<bool> cdi{};  // GPUs by CDI names, or by NVIDIA's hook; empty: what its engine can do
    std::optional<int> slots{}; // process places a node; default: its GPUs, or 1 without any
    int nodes = 1;
    std::map<std::string, std::string> env{};
    std::string interface{};           // network interface; empty: the one that holds the address
    std::vector<std::string> groups{}; // that it is in; sorted
    int line = 0;                      // in cluster.yaml, for messages
};

struct UlimitSpec {
    std::int64_t soft = 0, hard = 0; // bytes or counts, as the limit has it; -1: unlimited
    bool automatic = false;          // these, or else what the engine gives by itself
    bool operator==(const UlimitSpec&) const = default;
};

struct MountSpec {
    std::string source{}; // absolute path on the host, or a volume's name
    std::string target{}; // absolute path in the container
    bool read_only = false;
    std::string selinux{};     // of a path: "z" (containers may share it) or "Z" (one has it)
    std::string propagation{}; // of a path: mount(8)'s, "rslave"
    bool no_copy = false;      // of a volume: not filled from the image
    bool operator==(const MountSpec&) const = default;
};

struct ContainerSpec {
    Bytes shm_size{64ULL << 30U};
    std::string ipc = "private";
    bool ipc_chosen = false; // the file does not say it, and two nodes share a machine: so it is host
    std::map<std::string, UlimitSpec> ulimits{{"memlock", {-1, -1, true}}, {"stack", {64 << 20, 64 << 20}}};
    std::vector<MountSpec> mounts{};
    std::map<std::string, std::string> env{};
    std::vector<SecretSpec> secrets{};
    bool devices_auto = true;           // RDMA devices where the host has them
    std::vector<std::string> devices{}; // explicit device paths
    std::string user{};                 // empty: root
    std::string workdir{};              // empty: the image's own
    bool privileged = false;
    std::int64_t pids_limit = 65536;
    std::vector<std::string> cap_add{};      // beside those that every node has, node_config.cpp
    std::optional<bool> no_new_privileges{}; // empty: where jobs run as root, who has no use for sudo
    std::string runtime{};
    enum class Entrypoint { dockdist, image };
    Entrypoint entrypoint = Entrypoint::dockdist; // image: wrap each job in the image's own entrypoint
    bool operator==(const ContainerSpec&) const = default;
};

struct SshSpec {
    std::optional<Port> port{}; // empty: auto, the first free one from 2222
    bool operator==(const SshSpec&) const = default;
};

struct NetworkSpec {
    enum class Rdma { automatic, required, off };
    Rdma rdma = Rdma::automatic; // required: jobs run over it or not at all
    // Networks, "10.1.0.0/16": a node's address is its host's one in one of them, unless the host names its
    // own.
    std::vector<std::string> subnets{};
    bool operator==(const NetworkSpec&) const = default;
};

std::string to_word(NetworkSpec::Rdma rdma); // as the file has it

struct SyncSpec {
    std::string source{}, target{};     // a path of this machine; an absolute one in the containers
    bool remove = false;                // what is in the target alone goes
    std::vector<std::string> exclude{}; // patterns as in .gitignore
    bool operator==(const SyncSpec&) const = default;
};

// A command that makes a node ready, once.
inline constexpr std::size_t most_setup_lines = 50; // what a node says of all of them is one short answer
struct SetupSpec {
    std::string run{};                 // for `sh -c`
    std::optional<std::string> user{}; // whom it runs as, "" for root; none: container.user
    std::string target{};              // a folder that nodes may share: those that do run it once
    bool operator==(const SetupSpec&) const = default;
};

// Models and data sets that the hosts themselves keep.
struct DataSpec {
    std::string host{};                 // where it is: a host's name; empty: this machine
    std::string source{};               // a path there
    std::string target{};               // on every host: an absolute path, or a volume's name
    bool remove = false;                // what is in the target alone goes
    std::vector<std::string> exclude{}; // patterns as in .gitignore
    bool operator==(const DataSpec&) const = default;
};

// A job whose GPUs do nothing.
struct IdleSpec {
    std::chrono::milliseconds after{0}; // 0: nobody watches
    bool stop = false;                  // else it is told
    bool operator==(const IdleSpec&) const = default;
};

// What a node keeps of jobs that have ended.
inline constexpr Bytes most_kept{1ULL << 50U};
inline constexpr std::chrono::hours longest_history{100 * 366 * 24};
struct HistorySpec {
    Bytes keep{20ULL << 30U};                                     // output, of all of them together
    std::chrono::milliseconds records_for{std::chrono::days{90}}; // from a job's end on
    std::chrono::milliseconds logs_for{std::chrono::days{30}};    // its output
    bool operator==(const HistorySpec&) const = default;
};

// The list of its members is a line of at most 4 MiB: 1 KiB for each.
inline constexpr int most_cluster_nodes = 4096;

struct ClusterSpec {
    ClusterName name{}; // default: the folder's name
    ImageSpec image{};
    std::vector<HostSpec> hosts{};
    ContainerSpec container{};
    SshSpec ssh{};
    NetworkSpec network{};
    std::vector<SyncSpec> sync{};
    std::vector<SetupSpec> setup{}; // in this order on each node
    std::vector<DataSpec> data{};
    std::vector<std::string> collect{}; // paths in the containers, fetched after a job
    std::string launcher{};             // default of `run`; empty: plain
    std::map<std::string, int> roles{}; // of `run`'s processes, for launchers that know such
    IdleSpec idle{};                    // default of `run`
    HistorySpec history{};
    int spares = 0;                      // nodes that `run` holds in reserve
    int min_nodes = 0;                   // with so many the cluster is up, and jobs run; 0: with all alone
    Bytes gpu_in_use_above{1ULL << 30U}; // memory in use of a GPU that no job has: then somebody else has it
    std::string slurm_job{};             // the id of the allocation that `hosts` are of; empty: of none
    std::filesystem::path file{};
};

// ClusterSpec::gpu_in_use_above in MiB, as nvidia-smi counts.
inline std::int64_t gpu_in_use_mib(const ClusterSpec& spec) {
    return static_cast<std::int64_t>(spec.gpu_in_use_above.count >> 20U);
}

// Whether a cluster with so many nodes will do, though others are missing.
inline bool enough_nodes(const ClusterSpec& spec, std::size_t nodes, bool keep_going) {
    return nodes > 0 &&
           (keep_going || (spec.min_nodes > 0 && nodes >= static_cast<std::size_t>(spec.min_nodes)));
}

// One container that the cluster wants, in rank order (hosts in the file's order, then the nodes of each).
struct NodeSpec {
    NodeName name{};      // the host's name; with several nodes on the host: <host>-<i>
    int rank = 0;         // of the node, 0 … n-1
    std::size_t host = 0; // index into ClusterSpec::hosts
    GpuSpec gpus{};       // this node's share of the host's GPUs
    std::optional<int> slots{};
};

// The host of that name or, where there is none, of that place in the file ("node-0"); null: neither.
const HostSpec* find_host(const ClusterSpec& spec, const std::string& word);

// The GPUs of a host with several nodes are split evenly, a list in its order.
std::vector<NodeSpec> expand_nodes(const ClusterSpec& spec);
NodeName node_name(const HostSpec& host, int i); // of the i-th node of a host

} // namespace dockdist
