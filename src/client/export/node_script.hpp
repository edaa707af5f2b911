// What every node of a job runs, as one text for POSIX sh: the launcher's own lines for its nodes
// (shared/launch/launcher.hpp), in which what the engine decides stands as variables. What a launcher starts
// as a rank through dockdist-init is the user's command itself here; the image needs nothing of dockdist's.
#pragma once

#include "client/export/export_job.hpp"
#include "shared/core/result.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

// How an engine tells a node's script what it has decided: each is text that stands between double quotes in
// a shell ("$SLURM_NODEID", "train-0-0.train"). The script sets NODE_RANK, MASTER_ADDR and MASTER_PORT of
// these, and exports them.
struct ScriptWords {
    std::string engine{}; // for messages: "Slurm"
    std::string node_rank{};
    std::string master_addr{};
    std::string master_port{}; // further ports of a launcher follow it
    std::string node_addr{};   // the node's own
    // Of every node, for launchers that name them all; empty: such are refused.
    std::vector<std::string> addresses{};
    std::vector<std::string> names{}; // likewise of the names; empty: node-0, node-1, … which nobody looks up
    std::string job{};         // names the job where no other job of the machine may meet it: "$SLURM_JOB_ID"
    std::string secret{};      // the same on all nodes, and nobody else's; empty: launchers that want one are
                               // refused
    std::string no_ssh_hint{}; // what to use where a launcher starts its ranks over ssh
    bool starts_slots = false; // the engine can start a process a slot itself
    std::chrono::seconds grace{}; // from a rank's failure until the others are given up
};

struct NodeScript {
    std::string text{}; // for `sh -c`; ends with a newline
    // ScriptWords::starts_slots, and the launcher leaves it to it: the text is for one slot, in which RANK,
    // LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE are the engine's to set.
    int processes = 1; // a node
    bool one_a_slot = false;
    // The job is over when node 0 is: the others serve it, and know no end.
    bool ends_with_first = false;
    // Which of the words of ScriptWords stand in it.
    bool names_own_address = false, names_addresses = false, names_secret = false;
};

// Errors (usage, config): a launcher that starts its ranks over ssh; what the launcher itself refuses.
Result<NodeScript> node_script(const ExportJob& job, const ScriptWords& words);

// What a kernel passes on as one word of a command line, `sh -c SCRIPT`, is shorter (MAX_ARG_STRLEN).
inline constexpr std::size_t most_of_a_word = 128UL << 10U;
// That the script is. Errors: usage.
Status fits_one_word(const ExportJob& job, const std::string& script);

} // namespace dockdist
