// The probes of one node on one stream: `dockdist-init probe`, run through an exec with the environment that
// ranks get. One JSON object a line, at most 4 MiB.
//
//   client → node   {"probe":L,"line":{…}}    a line for the stdin of local rank L's probe (probe/order.hpp);
//                                             the first one starts it
//   node → client   {"rdma":["mlx5_0"]}       once, at first: RDMA devices that have an active port
//                   {"probe":L,"line":{…}}    what it answers
//                   {"probe":L,"ended":{"code","signal","message","hint"}}
//                                             its end; message is what it said on stderr last, or why it
//                                             could not be started
//
// The end of the client's stream ends every probe, and with the last one the exec.
#pragma once

#include "shared/core/result.hpp"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

inline constexpr int most_probes = 64; // local ranks are less than that

struct ProbeEnd {
    int code = 0;
    int signal = 0; // 0: it ended by itself
    std::string message{}, hint{};
};

std::string probe_line(int local_rank, nlohmann::json line);
std::string probe_end_line(int local_rank, const ProbeEnd& end);
std::string rdma_line(const std::vector<std::string>& devices);

// Exactly one of line, end and rdma is there.
struct ProbeMessage {
    int local_rank = 0;
    std::optional<nlohmann::json> line{};
    std::optional<ProbeEnd> end{};
    std::optional<std::vector<std::string>> rdma{};
};
Result<ProbeMessage> parse_probe_message(std::string_view line);

} // namespace dockdist::wire
