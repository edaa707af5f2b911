// The units of a node (shared/wire/gpus.hpp): what there is, which of it is sound, which of it a job means,
// and which of several it gets. Pure.
#pragma once

#include "shared/gpu/gpu.hpp"
#include "shared/gpu/topology.hpp"
#include "shared/wire/gpus.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

inline constexpr const char* cuda_devices_variable = "CUDA_VISIBLE_DEVICES";

// What nvidia-smi lists: GPUs, and in place of one that MIG splits its instances, with its index. One whose
// UUID the driver does not tell is none.
struct SeenGpus {
    std::vector<Gpu> gpus{};
    std::vector<MigInstance> instances{};
};
std::vector<wire::GpuUnit> units_of(const SeenGpus& seen);
// Of a node without GPUs: `slot:CLUSTER/NODE/I`.
std::vector<wire::GpuUnit> slot_units(const std::string& cluster, const std::string& node, int count);
bool is_slot(const wire::GpuUnit& unit);
std::string unit_name(const wire::GpuUnit& unit); // "GPU 3", also of an instance of it; "slot 0"
bool is_instance(const wire::GpuUnit& unit);      // of a GPU that MIG splits

struct UnitState {
    wire::GpuUnit unit{};
    std::string problem{};            // why it is not given out: a sentence. Empty: it is sound
    std::optional<double> used_mib{}; // of its memory; not of MIG instances, of which nobody tells
    std::optional<Gpu> gpu{};         // with all its figures; of an instance the split one
};
std::vector<UnitState> slot_states(const std::string& cluster, const std::string& node, int count);
// What is there now, and what was there at the join and is gone.
std::vector<UnitState> unit_states(const std::vector<wire::GpuUnit>& at_join, const SeenGpus& seen);

// What CUDA_VISIBLE_DEVICES means, as CUDA reads it: indices, or else UUIDs and beginnings of UUIDs, up to
// the first word that names none or is of the other kind. Where one is named twice, CUDA does not begin at
// all (cuInit: 101, seen with driver 580 by index and by UUID); ROCm reads no further.
struct NamedUnits {
    std::vector<wire::GpuUnit> units{};
    std::string unknown{};  // that word, unless it is -1
    std::string repeated{}; // the word that names one again
};
NamedUnits named_units(std::string_view visible_devices, const std::vector<wire::GpuUnit>& units);

// `count` of the candidates (at least so many), in their order. Whole GPUs are chosen by what links them.
struct ChosenUnits {
    std::vector<wire::GpuUnit> units{};
    std::string together{}; // as wire::GpuTurn has it
};
ChosenUnits choose_units(std::size_t count, const std::vector<wire::GpuUnit>& candidates,
                         const Topology& topology);

// The value of CUDA_VISIBLE_DEVICES that shows them; empty where one is a slot.
std::string visible_devices(const std::vector<wire::GpuUnit>& units);

} // namespace dockdist
