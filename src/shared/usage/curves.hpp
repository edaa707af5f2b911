// Curves of several GPUs, or of several nodes, as one. Pure.
#pragma once

#include "shared/wire/job_usage.hpp"

#include <cstdint>
#include <vector>

namespace dockdist {

struct PlacedCurve {
    const wire::Curve* curve = nullptr; // borrowed
    std::int64_t step_ms = 1000;
};

// Their mean, the least and the most of them, in steps of the coarsest.
struct CombinedCurve {
    std::int64_t step_ms = 1000;
    std::vector<std::optional<wire::CurvePoint>> points{};
};
CombinedCurve combined(const std::vector<PlacedCurve>& curves);

// Those of the history that are of this figure.
std::vector<PlacedCurve> curves_of(const wire::JobHistory& history, wire::Figure figure);

} // namespace dockdist
