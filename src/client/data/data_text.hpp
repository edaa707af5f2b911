// What each host has of an entry of `data:`, or was given, in words.
#pragma once

#include "client/data/data_run.hpp"
#include "client/report/output.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// "a:/data/llama", "/home/ada/models".
std::string shown_data_source(const DataSpec& data);

// "complete", "lacks 3 files (24.0 GiB)", "absent".
std::string state_text(const DataHost& host, const DataState& state);

using DataStates = std::vector<std::pair<DataSpec, DataState>>;

// A row for each entry and host: "/data/llama  node-1  lacks 3 files (24.0 GiB)".
std::string to_table(const DataStates& states, const ClusterSpec& spec,
                     const OutputTraits& output = no_terminal);

// One line: "a:/data/llama → /data/llama: 12 files (24.0 GiB) sent to node-1, node-2; node-0 had it all".
std::string pushed_text(const DataSpec& data, const DataState& state, const ClusterSpec& spec);

// "removed what a:/data/llama has from /data/llama on node-1, node-2".
std::string removed_text(const DataSpec& data, const DataState& state, const ClusterSpec& spec);

// Before `work` for a look, else after it.
nlohmann::json to_json(const DataSpec& data, const DataState& state, const ClusterSpec& spec, DataWork work);

} // namespace dockdist
