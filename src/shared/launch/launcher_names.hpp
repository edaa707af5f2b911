// The launchers that a file may name as its default, which are all that `run` has: the table in launcher.cpp
// does not compile with others.
#pragma once

#include <array>
#include <string_view>

namespace dockdist {

inline constexpr std::array<std::string_view, 11> launcher_names{
    "accelerate", "deepspeed", "horovodrun", "jax",        "mpirun",
    "plain",      "ray",       "slurm",      "tensorflow", "torch.distributed.launch",
    "torchrun"}; // sorted: messages list them so

// What a process of a job may be under the launchers that know such, and how many there may be of each.
inline constexpr std::array<std::string_view, 3> role_names{"chief", "ps", "worker"};
inline constexpr int most_of_a_role = 1000;

} // namespace dockdist
