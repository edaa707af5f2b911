#include "shared/gpu/units.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"
#include "shared/gpu/kfd.hpp"

#include <algorithm>
#include <set>

namespace dockdist {

namespace {

constexpr std::string_view slot_prefix = "slot:";

std::string title(const wire::GpuUnit& unit) {
    return (is_instance(unit) ? "the MIG instance " + unit.id + " of " : "") + unit_name(unit);
}

std::string problem_of(const Gpu& gpu) {
    const auto errors = gpu.uncorrected.value_or(0);
    return errors > 0 ? "GPU " + std::to_string(gpu.index) + " has " + std::to_string(errors) +
                            (errors == 1 ? " uncorrected memory error" : " uncorrected memory errors")
                      : std::string();
}

const wire::GpuUnit* find_named(std::string_view word, const std::vector<wire::GpuUnit>& units) {
    if (const auto index = whole_number<int>(word)) {
        const auto found = std::ranges::find(units, *index, &wire::GpuUnit::index);
        return found == units.end() ? nullptr : &*found;
    }
    const wire::GpuUnit* named = nullptr;
    for (const auto& unit : units) {
        if (unit.id == word) {
            return &unit;
        }
        if (word.size() > std::string_view("GPU-").size() && unit.id.starts_with(word)) {
            if (named != nullptr) {
                return nullptr; // it could be either
            }
            named = &unit;
        }
    }
    return named;
}

} // namespace

std::vector<wire::GpuUnit> units_of(const SeenGpus& seen) {
    std::vector<wire::GpuUnit> units;
    for (const auto& gpu : seen.gpus) {
        if (!gpu.mig) {
            if (!gpu.uuid.empty()) {
                units.push_back({.id = gpu.uuid, .index = gpu.index, .name = gpu.name});
            }
            continue;
        }
        for (const auto& instance : seen.instances) {
            if (instance.gpu == gpu.index) {
                units.push_back(
                    {.id = instance.uuid, .index = gpu.index, .name = gpu.name + " MIG " + instance.profile});
            }
        }
    }
    return units;
}

std::vector<wire::GpuUnit> slot_units(const std::string& cluster, const std::string& node, int count) {
    std::vector<wire::GpuUnit> units;
    for (int i = 0; i < count; ++i) {
        units.push_back(
            {.id = std::string(slot_prefix) + cluster + "/" + node + "/" + std::to_string(i), .index = i});
    }
    return units;
}

bool is_instance(const wire::GpuUnit& unit) {
    return unit.id.starts_with("MIG-");
}

bool is_slot(const wire::GpuUnit& unit) {
    return unit.id.starts_with(slot_prefix);
}

std::string unit_name(const wire::GpuUnit& unit) {
    return (is_slot(unit) ? "slot " : "GPU ") + std::to_string(unit.index);
}

std::vector<UnitState> slot_states(const std::string& cluster, const std::string& node, int count) {
    std::vector<UnitState> states;
    for (auto& unit : slot_units(cluster, node, count)) {
        states.push_back({.unit = std::move(unit)});
    }
    return states;
}

std::vector<UnitState> unit_states(const std::vector<wire::GpuUnit>& at_join, const SeenGpus& seen) {
    std::vector<UnitState> states;
    std::set<std::string> there;
    for (const auto& unit : units_of(seen)) {
        const auto gpu = std::ranges::find(seen.gpus, unit.index, &Gpu::index);
        there.insert(unit.id);
        states.push_back({.unit = unit,
                          .problem = problem_of(*gpu),
                          .used_mib = is_instance(unit) ? std::nullopt : gpu->memory_used_mib,
                          .gpu = *gpu});
    }
    for (const auto& unit : at_join) {
        if (!there.contains(unit.id) && !is_slot(unit)) {
            const auto behind = std::ranges::find_if(
                states, [&](const UnitState& state) { return state.unit.index > unit.index; });
            states.insert(behind, {.unit = unit,
                                   .problem = title(unit) + " was there when the node joined, and " +
                                              (is_amd_uuid(unit.id) ? "its driver" : "nvidia-smi") +
                                              " does not list it any more"});
        }
    }
    return states;
}

NamedUnits named_units(std::string_view visible_devices, const std::vector<wire::GpuUnit>& units) {
    NamedUnits named;
    const auto is_number = [](std::string_view word) {
        return !word.empty() && word.front() >= '0' && word.front() <= '9';
    };
    const auto parts = split(visible_devices, ',');
    const bool by_number = is_number(trimmed(parts.front(), " \t"));
    for (const auto& part : parts) {
        const auto word = trimmed(part, " \t");
        const auto* unit = is_number(word) == by_number ? find_named(word, units) : nullptr;
        if (unit == nullptr) {
            named.unknown = word == "-1" ? "" : std::string(word);
            break;
        }
        if (std::ranges::find(named.units, *unit) != named.units.end()) {
            named.repeated = std::string(word);
            if (!is_amd_uuid(unit->id)) {
                named.units.clear();
            }
            break;
        }
        named.units.push_back(*unit);
    }
    return named;
}

ChosenUnits choose_units(std::size_t count, const std::vector<wire::GpuUnit>& candidates,
                         const Topology& topology) {
    ChosenUnits chosen;
    std::vector<int> indices;
    for (const auto& unit : candidates) {
        if (!is_slot(unit) && !is_instance(unit)) {
            indices.push_back(unit.index);
        }
    }
    if (indices.size() < candidates.size()) { // instances have no links, slots neither
        chosen.units.assign(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(
                                                                         std::min(count, candidates.size())));
        return chosen;
    }
    const auto choice = choose_gpus(count, indices, topology);
    chosen.together = choice.together;
    std::ranges::copy_if(candidates, std::back_inserter(chosen.units), [&](const auto& unit) {
        return std::ranges::find(choice.indices, unit.index) != choice.indices.end();
    });
    return chosen;
}

std::string visible_devices(const std::vector<wire::GpuUnit>& units) {
    std::string list;
    for (const auto& unit : units) {
        if (is_slot(unit)) {
            return {};
        }
        list += (list.empty() ? "" : ",") + unit.id;
    }
    return list;
}

} // namespace dockdist
