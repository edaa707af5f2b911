// Where an entry of `data:` comes from and goes to: a relay for each of those hosts, with its mount.
#pragma once

#include "client/data/data_run.hpp"
#include "client/observe/observe.hpp"
#include "client/sync/node_stream.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dockdist {

inline constexpr const char* data_folder = "/data"; // in a relay's container

bool is_volume(const DataSpec& data); // what it goes to; else a folder of the host

struct DataPlace {
    std::unique_ptr<RelayHost> relay{};
    std::size_t host = 0;
    DataHost* target = nullptr;           // of the origin nullptr
    std::string user{};                   // "UID:GID", once it is started
    std::unique_ptr<NodeStream> stream{}; // once it is marked; it has the folder open
};

// The origin first, where it is a host, then the targets, but one that is the origin. Fills `hosts`, which
// stays where it is as long as the places.
std::vector<DataPlace> make_places(const ClusterSpec& spec, const Engines& engines, const DataSpec& data,
                                   const DataSetting& setting, const RelayRun& run,
                                   std::vector<DataHost>& hosts);

} // namespace dockdist
