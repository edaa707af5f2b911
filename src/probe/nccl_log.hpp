// What NCCL says of itself under NCCL_DEBUG=INFO: which network it took, and over what every connection runs.
// Pure. The lines are those of NCCL 2.4 to 2.28 (src/transport/*.cc and src/init.cc there), which differ
// little:
//   host:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>
//   host:1:2 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:10.0.1.1<0>
//   host:1:2 [0] NCCL INFO Using network IB
//   host:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dockdist::probe {

struct Transport {
    std::string kind{};   // "NET/IB", "NET/Socket", "NET/AWS Libfabric", "P2P", "SHM", "COLLNET/SHARP", …
    std::string detail{}; // "GDRDMA", "CUMEM", "IPC/read", "direct pointer", "direct/direct"; may be empty
    int connections = 0;  // of this rank, either way

    bool operator==(const Transport&) const = default;
};

struct NcclLog {
    std::string version{}; // "2.21.5+cuda12.4"
    std::string network{}; // "IB", "Socket", or a plugin's name: what NCCL would use between nodes
    std::vector<std::string> interfaces{};   // of NET/Socket: "eth0"
    std::vector<std::string> rdma_devices{}; // of NET/IB: "mlx5_0:1/RoCE"
    bool no_rdma_device = false;             // NET/IB found none
    std::vector<Transport>
        transports{}; // what connections were made over, in the order of their first mention
    std::vector<std::string> warnings{}; // NCCL WARN lines, their words alone; the first ten
};

NcclLog parse_nccl_log(std::string_view text);

} // namespace dockdist::probe
