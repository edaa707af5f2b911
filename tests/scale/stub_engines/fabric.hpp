// The network between the stubs' nodes: each host has a network namespace of its own with one interface,
// eth0, and a router in the middle knows them all. So nodes claim ports, count connections and reach each
// other as on machines of their own.
//
//   host 7: engine at 127.101.0.8, which the client reaches; nodes at 10.101.0.8, which nodes reach
#pragma once

#include "shared/core/fd.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dockdist::scale {

// The calling thread is in the namespace while this lives: what it opens then, stays there.
class InNamespace {
public:
    InNamespace(int target, int own);
    InNamespace(const InNamespace&) = delete;
    InNamespace& operator=(const InNamespace&) = delete;
    ~InNamespace();

private:
    int own_;
};

class Fabric {
public:
    // `bandwidth`: bytes a second that a host's link carries to the others; 0: as many as it can.
    Fabric(int hosts, std::uint64_t bandwidth);

    int network_of(int host) const { return hosts_.at(static_cast<std::size_t>(host)).get(); }
    int own() const { return own_.get(); } // where the client's side of the stubs is
    static std::string engine_address(int host);
    static std::string node_address(int host);
    // TCP connections that were begun inside of the hosts so far, to their own addresses included.
    std::uint64_t connections_begun() const;
    // Nothing passes any more, and nobody is told.
    void cut(int host) const;

private:
    void add_host(int host);
    void limit(int host, std::uint64_t bandwidth) const;
    Fd own_;
    Fd router_;
    std::vector<Fd> hosts_{};
};

} // namespace dockdist::scale
