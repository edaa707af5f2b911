// A machine's RDMA ports, as /sys/class/infiniband tells of them: read on the node
// (node/system/rdma_ports.hpp), told in its record and to a check, judged by rdma/. Device names become
// values of variables, and lists of them: whoever reads these messages refuses what a kernel would not give.
//
// {"device":"mlx5_0","port":1,"link":"Ethernet","state":"ACTIVE","mbps":200000,"netdev":"eth2",
//  "pci":"0000:3b:00.0","gids":[[3,"10.1.0.5",24,"eth2"]]}; what is empty is left out
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

class ObjectReader;

inline constexpr std::size_t most_rdma_ports = 64; // of a node: the active ones first
inline constexpr std::size_t most_rdma_gids = 16;  // of a port
inline constexpr std::size_t most_rdma_variables = 32;
inline constexpr std::size_t longest_rdma_device = 64; // IB_DEVICE_NAME_MAX of the kernel

// One of RoCE v2, of a port of Ethernet. Link-local ones of IPv6 are none: they lead to no network.
struct RdmaGid {
    int index = 0; // in the port's table; it moves when interfaces or addresses come and go
    std::string address{};
    int prefix = 0;       // bits of its network; 0: not known
    std::string netdev{}; // that has the address: the port's own, a VLAN of it, a bond
    bool operator==(const RdmaGid&) const = default;
};

struct RdmaPort {
    std::string device{}; // "mlx5_0"
    int port = 1;
    std::string link{};    // "InfiniBand", "Ethernet"; "EFA", "iWARP": what is no way of NCCL's own
    std::string state{};   // "ACTIVE", "DOWN", "INIT"
    std::int64_t mbps = 0; // 0: not known
    std::string netdev{};  // the interface of the same port; may be empty
    std::string bond{};    // that the interface is a part of
    std::string pci{};     // "0000:3b:00.0"; told only where virtual functions of it are there
    std::string part_of{}; // the PCI address of the physical function, where this is a virtual one
    bool outside = false;  // its device file is not in the container, as those of others may be
    std::string prefix{};  // InfiniBand: the subnet's, "fe80:0000:0000:0000"
    std::vector<RdmaGid> gids{};
    bool operator==(const RdmaPort&) const = default;
};

// What a node knows of RDMA when it joins.
struct RdmaRecord {
    std::string use = "auto"; // JoinRequest::rdma, as it was told
    bool inside = false;      // /dev/infiniband is in the container
    std::string nccl{};       // the oldest NCCL of the image, "2.19.3"; empty: not known
    std::vector<std::string>
        yours{}; // variables that follow from it and that the container has from its user
    std::vector<RdmaPort> ports{};
    bool cut = false; // it has ports that jobs may use and that found no room here
    bool operator==(const RdmaRecord&) const = default;
};

// Leaves out ports until it is no longer than the room as JSON: virtual functions first, then what has no
// link. A node's record is one line of its container's log, and json-file keeps lines in pieces of 16 KiB, of
// which the last alone is read back; and the list of members, with the records of all nodes, is one line.
inline constexpr std::size_t longest_rdma_record = 10U << 10U;
std::size_t room_for_rdma(std::size_t nodes); // of one of so many
void shorten(RdmaRecord& record, std::size_t room);

// Of an interface that found no server of addresses: no network of anybody's.
bool is_link_local(const RdmaGid& gid);
bool has_address(const RdmaPort& port); // of a network
// Whether a physical function does all that a virtual one of it could do: the host may have given its
// addresses to the virtual one alone.
bool stands_for(const RdmaPort& whole, const RdmaPort& part);

bool is_rdma_use(std::string_view text); // "auto", "required", "off"
bool is_rdma_device(std::string_view name);

void to_json(nlohmann::json& json, const RdmaPort& port);
void read_fields(ObjectReader& reader, RdmaPort& port);
void to_json(nlohmann::json& json, const RdmaRecord& record);
void read_fields(ObjectReader& reader, RdmaRecord& record);
void read_rdma_ports(ObjectReader& reader, const char* key, std::vector<RdmaPort>& ports);

} // namespace dockdist::wire
