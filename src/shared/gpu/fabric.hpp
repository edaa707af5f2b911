// How a GPU stands with its NVLink fabric, from the section of that name of `nvidia-smi -q` (drivers from
// R535 on).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

struct GpuFabric {
    std::string state{};   // "Completed", "In Progress", "Not Started"
    std::string status{};  // once it is completed: "Success"
    std::string clique{};  // its number in the cluster
    std::string cluster{}; // UUID of what it shares with other hosts; empty: its switches lead to none
    bool operator==(const GpuFabric&) const = default;
};

// Of the first GPU; nothing where it has no fabric, or the driver does not tell of any.
std::optional<GpuFabric> parse_fabric(std::string_view text);

} // namespace dockdist
