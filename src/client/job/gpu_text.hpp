// What is said of a job's GPUs: which it has, whom it waits for. Who has one is told with his cluster where
// that is another one, his name and since when: enough to go and ask him.
#pragma once

#include "shared/core/error.hpp"
#include "shared/core/names.hpp"
#include "shared/wire/gpus.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

std::string or_dash(const std::string& text); // of a cell: "-" where it is empty

// "0", "0-3,6".
std::string ranges_text(std::vector<int> numbers);

// How it stands on one node.
struct NodeTurn {
    NodeName node{};
    wire::GpuTurn turn{};
};

// "job-a (user@machine, 12 min)", "job-a of cluster vision (…)", "a process outside dockdist". `cluster`: the
// one that is not named.
std::string holder_text(const wire::GpuHold& hold, std::string_view cluster);

// Where several ranks of a node have MIG instances: CUDA shows a process only the first one of those that
// CUDA_VISIBLE_DEVICES names.
std::optional<Error> shared_instance(const NodeTurn& node, int ranks);

// "1 GPU on 2 nodes", "4 slots on node-0"; "1 GPU on any 2 of 4 nodes", where so many would do.
std::string wanted_text(const std::vector<NodeTurn>& nodes, std::size_t among = 0);

// "node-0 GPU 0 job-a (user-a, 12 min), GPU 1 job-b (user-b, 3 min); place 1 in line". Without ages it is the
// same as long as the same is in the way.
enum class Ages { with, without };
std::string obstacles_text(const std::vector<NodeTurn>& nodes, std::string_view cluster,
                           Ages ages = Ages::with);

// "GPUs 0-3 (NVLink) on node-0; GPU 5 on node-1"; nothing of slots.
std::string taken_text(const std::vector<NodeTurn>& nodes);

// "2 GPUs" where each node's part has so many, and more than one; else empty.
std::string gpus_of_each_text(const std::vector<NodeTurn>& nodes);

// The job ends without having begun, because others have its GPUs. `gave_up`: "after 2 h"; empty: it was not
// to wait.
Error gpus_taken_error(const std::vector<NodeTurn>& nodes, std::string_view cluster,
                       const std::string& gave_up, std::size_t among = 0);

} // namespace dockdist
