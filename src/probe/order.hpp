// What a probe is told, and what it answers: JSON lines on its stdin and stdout.
//
// Who carries the probes starts one a GPU and writes to each its order:
//   {"rank":0,"world_size":2,"device":0,"deadline_ms":60000,"first_bytes":1024,"last_bytes":8589934592,"factor":4,
//    "operations":["all_reduce",…],"types":["float","bf16"],"iterations":20,"warm_up":5}
// rank, world_size and deadline_ms must be there; with "series_ms" the sizes of one operation and type take
// about as long at most: the large ones get fewer iterations, or none; "sizes":[…] may stand for first_bytes,
// last_bytes and factor. All ranks get the same words but for rank and device. Rank 0 answers
// {"type":"id","id":…}; the control sends {"id":…} on to the others (an order may hold it already). The id is
// wire::bytes_to_json's: a string, or {"hex":"…"}.
//
// Then each probe answers with lines of these types:
//   device       {"name","pci","memory_bytes","free_bytes","driver","nccl","libcuda","libnccl"}
//   measurement
//   {"operation","data_type","bytes","iterations","time_us","least_us","algorithm_gbps","bus_gbps","kind",
//                 "checked","wrong"}; kind is "collective", or "copy" in a world of one, whose bus_gbps says
//                 nothing; where wrong is not 0: "first_wrong":{"index","expected","got"}. Each rank tells
//                 the times that it saw
//   result       always the last:
//   {"ok":true|false,"measurements":N,"left_out":[bytes…],"too_slow":[bytes…],"network","interfaces",
//                 "rdma_devices","transports":[{"kind","detail","connections"}],"warnings":[…]}, and where ok
//                 is false: "error":{"kind","where","message","hint"}
// stdin stays open while the probe runs: its end means that the control is gone, and ends the probe at once.
//
// Exit codes: 0 measured, every element right; 1 measured, some elements wrong; 2 the order or the command
// line is wrong; 3 no usable libcuda, libnccl or GPU; 4 CUDA or NCCL failed, or a peer; 5 the deadline
// passed; 6 the control is gone.
#pragma once

#include "probe/nccl_api.hpp"
#include "shared/core/result.hpp"
#include "shared/measurement/operation.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace dockdist::probe {

inline constexpr int exit_wrong_elements = 1;
int exit_code(const Error& error);

struct Order {
    int rank = 0;
    int world_size = 1;
    int device = 0;
    std::int64_t deadline_ms = 0; // from the order on
    int iterations = 20;
    int warm_up = 5;
    std::int64_t series_ms = 0;         // for all sizes of one operation and type; 0: as long as it takes
    std::vector<std::uint64_t> sizes{}; // bytes
    std::vector<Operation> operations{};
    std::vector<DataType> types{};
    std::optional<NcclUniqueId> id{};
};

Result<Order> parse_order(std::string_view line);
Result<NcclUniqueId> parse_id(std::string_view line);

} // namespace dockdist::probe
