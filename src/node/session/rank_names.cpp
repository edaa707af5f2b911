#include "node/session/rank_names.hpp"

#include <array>

namespace dockdist::node {

void name_ranks(Environment& environment) {
    struct Names {
        const char* name;
        std::array<const char*, 5> others; // Open MPI, PMI, MPICH's own, Slurm, Horovod; DeepSpeed last
    };
    constexpr std::array table{
        Names{"RANK", {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "HOROVOD_RANK"}},
        Names{"LOCAL_RANK",
              {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID",
               "HOROVOD_LOCAL_RANK"}},
        Names{"WORLD_SIZE", {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "", "SLURM_NTASKS", "HOROVOD_SIZE"}},
        Names{"LOCAL_WORLD_SIZE",
              {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "HOROVOD_LOCAL_SIZE",
               "LOCAL_SIZE"}},
    };
    for (const auto& entry : table) {
        for (const auto* other : entry.others) {
            if (const auto value = environment.get(other); *other != '\0' && value) {
                environment.set_default(entry.name, *value);
            }
        }
    }
}

} // namespace dockdist::node
