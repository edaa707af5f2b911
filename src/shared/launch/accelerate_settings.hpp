// What the user himself says to accelerate, by options and by a configuration file in the nodes. How it
// trains is his to say; which nodes and how many ranks there are, and how these are reached, is said by
// dockdist: a file of his that says it too describes other machines, or has every node start the whole job.
#pragma once

#include "shared/launch/launcher.hpp"

namespace dockdist {

// Of the user's options for accelerate those that are not simply passed on.
struct AccelerateWords {
    bool by_pdsh = false;              // --via pdsh, or accelerate's own word for it
    bool on_cpu = false;               // --cpu, which would make accelerate start one process a node
    std::string paradigm{};            // "use_fsdp": what is not the file's to say then; empty: it is
    std::string config_file{};         // in the nodes, from the job's folder
    std::string hostfile{};            // likewise
    std::vector<std::string> others{}; // for accelerate
};

// usage errors: what names nodes or counts ranks, ways that contradict each other.
Result<AccelerateWords> read_words(const LaunchRequest& request);

// Asks a node what its file says; LaunchNode::settings then holds: error; type; hostfile, hosts (blanks
// between them); filter; unused_file, unused_type.
std::optional<wire::Question> ask_settings(const LaunchRequest& request);
// From the nodes' answers: a file that is not there, or does not go with the way.
Status check_settings(const LaunchRequest& request, const AccelerateWords& words);
Errors settings_warnings(const LaunchRequest& request);

// In a node: `PROGRAM start THEIRS OURS MERGED WORD…` runs accelerate with WORD… and, as its configuration,
// their file with what ours says of the cluster. Facts from accelerate/commands/launch.py and config_args.py.
// Before 1.5 a file's section wins over options (accelerate#3409), so options alone would not do. Its types
// for no distribution and for CPUs start one process on each node, which knows of no other.
extern const char* const accelerate_settings_py;

} // namespace dockdist
