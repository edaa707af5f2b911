#include "node/job/rank/rank_environment.hpp"

#include "node/session/rank_names.hpp"
#include "shared/core/number.hpp"
#include "shared/launch/diagnosis_env.hpp"
#include "shared/rdma/variables.hpp"

#include <algorithm>

namespace dockdist::node {

void number_rank(Environment& environment, const RankNumbers& numbers) {
    const auto rank = std::to_string(numbers.rank);
    const auto local_rank = std::to_string(numbers.local_rank);
    environment.set("RANK", rank);
    environment.set("LOCAL_RANK", local_rank);
    environment.set("WORLD_SIZE", std::to_string(numbers.world));
    environment.set("LOCAL_WORLD_SIZE", std::to_string(numbers.local_world));
    if (environment.get("SLURM_JOB_ID")) {
        environment.set("SLURM_PROCID", rank);
        environment.set("SLURM_LOCALID", local_rank);
        environment.set("SLURM_CPUS_ON_NODE", std::to_string(numbers.cpus));
    }
}

void set_threads(Environment& environment, const JobPart& part) {
    constexpr const char* name = "OMP_NUM_THREADS";
    constexpr const char* of_dockdist = "DOCKDIST_OMP_NUM_THREADS"; // what dockdist has said, wherever
    const auto brought = environment.get(name);
    if (part.threads > 0 && (!brought || brought == environment.get(of_dockdist))) {
        environment.set(name, std::to_string(part.threads));
        environment.set(of_dockdist, std::to_string(part.threads));
    }
}

void show_crashes(Environment& environment) {
    environment.set_default("PYTHONFAULTHANDLER", "1");
}

void set_defaults(Environment& environment, const JobPart& part) {
    const auto users = environment;
    for (const auto& [name, value] : part.env_defaults) {
        if (std::ranges::find(part.unset, name) == part.unset.end()) {
            const auto other = users.get(std::string(other_spelling(name)));
            environment.set_default(name, other.value_or(value));
        }
    }
}

Environment rank_environment(Environment own, const Environment& recorded, const JobPart& part,
                             const IsTold& is_told) {
    for (const auto* name :
         {"DOCKDIST_NODE", "DOCKDIST_NODE_RANK", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME",
          "TP_SOCKET_IFNAME", "VLLM_HOST_IP", "SGLANG_HOST_IP", "HOSTNAME"}) {
        if (const auto value = recorded.get(name)) {
            own.set(name, *value);
        }
    }
    for (const auto* name : rdma::names_by_node) {
        const auto brought = own.get(name);
        const auto value = recorded.get(name);
        if (brought && brought != value && !is_told(name, *brought)) {
            continue; // the user's, by the launcher's options
        }
        if (value) {
            own.set(name, *value);
        } else {
            own.unset(name);
        }
    }
    apply_part(own, part, true);
    set_threads(own, part);
    show_crashes(own);
    set_defaults(own, part);
    name_ranks(own);
    const int local_rank = number_in(own, "LOCAL_RANK");
    if (local_rank >= 0 && static_cast<std::size_t>(local_rank) < part.rank_env.size()) {
        for (const auto& [name, value] : part.rank_env[static_cast<std::size_t>(local_rank)]) {
            own.set(name, value);
        }
    }
    return own;
}

std::vector<std::string> rank_argv(const JobPart& part, const Environment& environment) {
    auto argv = part.rank_command;
    const int local_rank = number_in(environment, "LOCAL_RANK");
    if (part.local_rank_at >= 0 && local_rank >= 0 &&
        static_cast<std::size_t>(part.local_rank_at) <= argv.size()) {
        argv.insert(argv.begin() + part.local_rank_at,
                    part.local_rank_option + "=" + std::to_string(local_rank));
    }
    return argv;
}

int number_in(const Environment& environment, const char* name) {
    return whole_number<int>(environment.get(name).value_or("")).value_or(-1);
}

} // namespace dockdist::node
