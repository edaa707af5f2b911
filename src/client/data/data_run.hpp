// One entry of `data:` on the hosts: what each has of it, bringing it there, and taking it away. On each host
// a relay's container has the target mounted, and nothing else, and runs as whoever owns it.
#pragma once

#include "client/data/file_sender.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/core/toolkits.hpp"

#include <map>
#include <string>
#include <vector>

namespace dockdist {

enum class DataWork { look, push, remove };

struct DataSetting {
    DataWork work = DataWork::look;
    std::vector<std::size_t> hosts{}; // to these, in this order
    Toolkits toolkits{};
    std::string attempt{}; // unique to this run and entry
    std::string origin{};  // USER@MACHINE:FILE
};

struct DataHost {
    std::size_t host = 0;
    bool is_origin = false; // it is where the data comes from
    bool absent = false;    // there is no such folder or volume
    SyncedNode node{};      // what it lacks, or was given; its errors; named as the host
};

struct DataState {
    std::uint64_t files = 0, bytes = 0;  // of the source
    std::vector<DataHost> hosts{};       // in the setting's order
    std::vector<std::string> left_out{}; // "NAME is …", of the source
    Errors errors{};                     // of the source; nothing was done then
    // Every host has all of it, and no error.
    bool same_everywhere() const;
    Errors all_errors() const;
};

// Nothing is left on a host but the data, and files that are begun.
Task<DataState> run_data(const ClusterSpec& spec, const Engines& engines, DataSpec data, DataSetting setting,
                         Reporter& reporter);

} // namespace dockdist
