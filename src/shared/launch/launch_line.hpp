// A launch line of the user's own: `torchrun --nproc_per_node 2 train.py`, `mpirun -np 8 ./train`. On each
// node of a job it is a job by itself, which knows nothing of the others. Pure.
#pragma once

#include "shared/core/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct LaunchLine {
    std::string_view launcher{};        // of dockdist's, that stands for it
    std::string program{};              // as typed: "torchrun", "python -m torch.distributed.run"
    std::vector<std::string> command{}; // what it would start; empty: that cannot be told from the words
    std::optional<int> per_node{};      // processes on a node, where it names a number
    bool meets_others = false;          // its words may be the same on each node, as they name a rendezvous
};

// Also behind `env`, `uv run`, `nohup` and their like, and where a shell's script begins with one.
std::optional<LaunchLine> launch_line(const std::vector<std::string>& command);

// What is wrong with it as the command of the launcher plain on `nodes` nodes, with the line that was meant;
// nothing where it is right.
std::optional<Error> on_each_node(const std::vector<std::string>& command, std::size_t nodes);

} // namespace dockdist
