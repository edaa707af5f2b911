// How a job's command becomes processes. A launcher is a pure function, one file each, entered in the table
// of launcher.cpp:
//
//   LaunchRequest → check_request, check_slots → questions to every node → take_answers → Launcher::launch →
//   NodeLaunch…
//
// Whatever the launcher, a rank is `dockdist-init rank` (shared/wire/job.hpp): the command itself stands in
// the node, and no launcher's quoting touches it.
#pragma once

#include "shared/core/names.hpp"
#include "shared/core/result.hpp"
#include "shared/launch/roles.hpp"
#include "shared/wire/job.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// A node as a launcher sees it, in the order of the job's node ranks.
struct LaunchNode {
    NodeName name{};
    std::string address{};   // numeric
    std::string interface{}; // that holds it
    int slots = 1;
    int gpus = 0;
    std::map<std::string, std::string> versions{}; // of the launcher's tools, by name; what the node answered
    std::map<std::string, std::string>
        settings{};            // what it answered to Launcher::question; a relaunch has none
    std::vector<Port> ports{}; // free there and reserved, where it was asked for any
};

inline constexpr std::size_t secret_digits = 64; // hexadecimal

struct LaunchRequest {
    JobId job{};
    std::vector<std::string> command{};  // what stands after `--`
    std::vector<LaunchNode> nodes{};     // at least one
    std::optional<int> ranks_per_node{}; // --gpus; default: each node's slots. plain has one rank a node
    bool per_rank = false;               // plain: the command once a slot, not once a node
    Roles roles{};                       // tensorflow: what its processes are
    std::string via{};                   // which of the launcher's own ways to start remote processes
    std::vector<std::string> options{};  // for the launcher itself, after its own: they win
    std::vector<Port> ports{};           // free on nodes[0] and reserved; the first is MASTER_PORT
    // Digits that nobody can guess, others for each launch: what the launcher's own processes know each other
    // by. Into a file of the job's folder, never into a command line.
    std::string secret{};
};

// What one node has to start. Nodes that start nothing themselves (the others of an mpirun) have an empty
// argv, and host the ranks that come to them.
struct NodeLaunch {
    NodeName node{};
    wire::JobStart start{};
    int ranks = 0;      // on this node through `dockdist-init rank`; 0: the command itself is the one process
    int first_rank = 0; // global rank of this node's local rank 0
    bool hosts_remote_ranks = false; // it runs until the others have ended; its own end says nothing
};

// A program or a Python module that the image has to bring.
struct Tool {
    enum class Kind { python_module, program };
    Kind kind = Kind::program;
    std::string_view name{};
    std::string_view how_to_add{};
    bool required = true; // else the launcher looks by itself at what there is
};

struct Launcher {
    std::string_view name{};
    std::string_view summary{};                     // one line for --help
    std::span<const std::string_view> vias{};       // what --via may be
    std::span<const std::string_view> steered_by{}; // variables that would steer it: none of the image's or
                                                    // the file's reaches it, only those of --env
    int ports = 1;                 // how many it wants on each node, of which MASTER_PORT is the first
    bool ranks_are_torchs = false; // they may be: of torch.distributed, over NCCL
    bool one_a_node = false; // one rank on each node, or as its roles say: --gpus is how many that one has
    bool has_roles = false;
    bool trains = false; // its ranks work in step: one that stands still is a hang, and no service at rest
    bool ports_everywhere = false; // its processes listen on every node, not on the first one alone
    std::vector<Tool> (*tools)(const LaunchRequest& request) = nullptr; // none when null
    Result<std::vector<NodeLaunch>> (*launch)(const LaunchRequest& request) = nullptr;
    // What is wrong with the user's options for it; the request has no nodes yet.
    Status (*check)(const LaunchRequest& request) = nullptr;
    int (*ports_for)(const LaunchRequest& request) = nullptr; // in place of `ports`
    // What else the nodes are asked: a program that prints "NAME VALUE" lines, of files that only they have.
    std::optional<wire::Question> (*question)(const LaunchRequest& request) = nullptr;
    // What people should know of the nodes' tools and files, once these have answered; often nothing.
    Errors (*warnings)(const LaunchRequest& request) = nullptr;
};

std::span<const Launcher> launchers();
// usage error with a suggestion when there is none of that name.
Result<Launcher> find_launcher(std::string_view name);

// How many ports every node reserves for it.
int ports_of(const Launcher& launcher, const LaunchRequest& request);

// What is wrong with the command line, whatever the nodes are: the request may have none yet.
Status check_request(const Launcher& launcher, const LaunchRequest& request);
// That its nodes have the slots and GPUs that are asked for.
Status check_slots(const Launcher& launcher, const LaunchRequest& request);
// What every node is asked before the launch is decided.
std::vector<wire::Question> questions(const Launcher& launcher, const LaunchRequest& request);
// Puts what the nodes answered, in the order of request.nodes, into the request. Errors, one a node: a tool
// that it lacks, with how to add it; a version that is not the first node's.
Errors take_answers(const Launcher& launcher, LaunchRequest& request,
                    const std::vector<wire::LaunchFacts>& facts);

// A question for the versions of Python's packages, none of which is imported; `more` is Python that prints
// further "NAME VERSION" lines.
wire::Question python_question(std::vector<std::string> modules, std::string_view more = "");
// What was answered to it and to `PROGRAM --version`: by name; "" for what is not there.
std::map<std::string, std::string> versions_of(const wire::LaunchFacts& facts);

// What `run --dry-run` prints: for every node its environment, files and command.
std::string to_text(const std::vector<NodeLaunch>& launches);

} // namespace dockdist
