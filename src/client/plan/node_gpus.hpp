// Which GPUs a node of `gpus: N` gets: such as no other cluster of the host has, and that go together.
#pragma once

#include "client/plan/observed.hpp"
#include "client/spec/cluster_spec.hpp"

#include <set>
#include <string>
#include <vector>

namespace dockdist {

struct ChosenGpus {
    std::vector<std::string> ids{}; // UUIDs, in the order of the host's own indices
    std::vector<int> indices{};     // of these, on the host
    std::string why{};              // "NVLink", "as before"; may be empty
};

// `had`: what the node has so far; it keeps that while it is there. `taken`: UUIDs that other nodes of the
// cluster have; what is chosen is added. `host.gpus` is there. Those that nobody uses now go first, then
// those that are near each other. Errors (no place yet): config when the host never had so many; conflict,
// with who has them, when others do.
Result<ChosenGpus> choose_node_gpus(const ObservedHost& host, std::size_t count,
                                    const std::vector<std::string>& had, std::set<std::string>& taken);

// Of nodes of other clusters on a host, the one that has this GPU for itself; null: none.
const Neighbour* neighbour_with(const std::vector<Neighbour>& neighbours, const wire::GpuFacts& gpu);

// "GPU 2, 3: NVLink"
std::string to_text(const ChosenGpus& gpus);

// The label of a node with these GPUs of the file's, where none are chosen.
std::string gpus_label(const GpuSpec& gpus);
// UUIDs, indices and CDI names of a label; none of "all" and "none".
std::vector<std::string> gpus_of_label(const std::string& label);
// The same of an engine's requests, which parts out a count from the first GPU on.
std::vector<std::string> gpus_of_requests(const std::vector<DeviceRequest>& requests);

// The CDI name of a GPU or MIG instance of `report`: by UUID, or by index where the engine tells that it
// knows no other.
std::string cdi_name_of(const std::string& uuid, const wire::GpuReport& report, const EngineInfo& engine);

} // namespace dockdist
