// The collectives that the probe runs, what each moves, and the two bandwidths of nccl-tests
// (doc/PERFORMANCE.md there).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dockdist {

// In nccl-tests' words: all_reduce_perf, all_gather_perf, reduce_scatter_perf, broadcast_perf (root 0),
// alltoall_perf, and sendrecv_perf: every rank sends to the next one and receives from the one before it.
enum class Operation { all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_receive };

inline constexpr Operation every_operation[] = {Operation::all_reduce,     Operation::all_gather,
                                                Operation::reduce_scatter, Operation::broadcast,
                                                Operation::all_to_all,     Operation::send_receive};

std::string_view to_string(Operation operation);
std::optional<Operation> parse_operation(std::string_view name);
bool sums(Operation operation); // all_reduce and reduce_scatter: their results are sums over the ranks

enum class DataType { float32, bfloat16 }; // "float", "bf16"

std::string_view to_string(DataType type);
std::optional<DataType> parse_data_type(std::string_view name);
std::uint64_t size_of(DataType type); // bytes

// What one rank hands to NCCL for an operation of `bytes`, which is nccl-tests' size: that of the larger of a
// rank's two buffers. It is rounded down to whole elements, the same number for every rank, and up to one
// element a rank.
struct Shape {
    std::uint64_t send_count = 0; // elements
    std::uint64_t receive_count = 0;
    std::uint64_t block_count = 0; // elements a rank, where the buffer is divided among the ranks; else all
    std::uint64_t bytes = 0;       // the size after rounding
};
Shape shape_of(Operation operation, std::uint64_t bytes, int world_size, DataType type);

struct Bandwidth {
    double algorithm = 0; // GB/s, of 10^9 bytes: bytes / time
    double bus = 0;       // GB/s: what compares with the hardware's measurement, whatever the number of ranks
};
// A world of one moves nothing between GPUs: its bus bandwidth is 0, as nccl-tests' formulas have it.
Bandwidth bandwidth_of(Operation operation, std::uint64_t bytes, double seconds, int world_size);

} // namespace dockdist
