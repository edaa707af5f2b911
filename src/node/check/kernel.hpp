// What the node's kernel and file systems tell.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// {"disk":{"free":N,"size":N},          of the container's own file system: where the engine keeps images
//  "shm":{"free":N,"size":N},           /dev/shm
//  "governors":{"performance":64},      CPUs of each; empty where the kernel does not say
//  "rdma":[{"device":"mlx5_0","port":1,"state":"ACTIVE","rate":"400 Gb/sec (4X NDR)","link":"InfiniBand"}],
//  "rdma_inside":true,                  /dev/infiniband is in the container
//  "xids":[{"gpu":"0000:3b:00","code":79}],  of the kernel's log; missing where it may not be read
//  "jobs":["vision-1a2b"]}              that run here now
nlohmann::json system_facts();

// Pure: the Xid errors in lines of the kernel's log, each GPU's code once.
struct Xid {
    std::string gpu{};
    int code = 0;
    bool operator==(const Xid&) const = default;
};
std::vector<Xid> parse_xids(std::string_view kernel_log);

} // namespace dockdist::node
