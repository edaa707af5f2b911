// The launchers that a file may name as its default, which are all that `run` has: launch/, which may include
// this and not the other way round, does not compile with a table of others.
#pragma once

#include <array>
#include <string_view>

namespace dockdist {

inline constexpr std::array<std::string_view, 9> launcher_names{
    "accelerate", "deepspeed", "horovodrun", "mpirun", "plain", "ray", "slurm", "torch.distributed.launch",
    "torchrun"}; // sorted: messages list them so

} // namespace dockdist
