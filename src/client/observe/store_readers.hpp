// What nodes have kept of their jobs that are not there now: their stores are still on the hosts, and are
// read by the same words as a node's, in a short-lived container beside each.
#pragma once

#include "client/observe/observe.hpp"
#include "shared/core/toolkits.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace dockdist {

// A node's volume, labels::store_volume.
struct Store {
    std::size_t host = 0;
    NodeName node{};
    std::string volume{};
};
struct FoundStores {
    std::vector<Store> stores{}; // one a node
    Errors errors{};             // of hosts that do not tell
};
// On these hosts, but for those of the nodes `there`. One round trip.
Task<FoundStores> find_stores(const ClusterSpec& spec, const Engines& engines, const std::vector<bool>& hosts,
                              const std::set<NodeName>& there);

class StoreReaders {
public:
    // Makes a container beside each store, of what its host has already. Whoever opens them closes them, also
    // where they were not all opened, or only begun to be. `seen`: as observe() fills it when it is given the
    // toolkits' versions. Errors: not_found, where there is nothing to read with; those of the engine.
    struct Setting {
        const Toolkits& toolkits;
        std::string attempt{}, origin{}; // for the labels
    };
    struct Opened {
        std::vector<ReadyNode> nodes{}; // as doors to the stores
        Errors errors{};
    };
    Task<Opened> open(const ClusterSpec& spec, const Engines& engines, const ObservedCluster& seen,
                      std::vector<Store> stores, Setting setting);
    Task<void> close(const Engines& engines);

private:
    struct Made {
        std::size_t host = 0;
        std::string name{};
    };
    Task<Result<ContainerId>> make(ContainerEngine& engine, std::string name, ContainerConfig config);

    std::vector<Made> made_{};
};

} // namespace dockdist
