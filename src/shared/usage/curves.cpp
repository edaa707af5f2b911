#include "shared/usage/curves.hpp"

#include <algorithm>

namespace dockdist {

CombinedCurve combined(const std::vector<PlacedCurve>& curves) {
    CombinedCurve all{.step_ms = 1};
    for (const auto& [curve, step_ms] : curves) {
        all.step_ms = std::max(all.step_ms, step_ms);
    }
    std::vector<int> counts;
    for (const auto& [curve, step_ms] : curves) {
        for (std::size_t i = 0; i < curve->points.size(); ++i) {
            const auto& point = curve->points[i];
            if (!point) {
                continue;
            }
            const auto middle_ms = static_cast<std::int64_t>(i) * step_ms + step_ms / 2;
            const auto place = static_cast<std::size_t>(middle_ms / all.step_ms);
            if (all.points.size() <= place) {
                all.points.resize(place + 1);
                counts.resize(place + 1);
            }
            auto& sum = all.points[place];
            if (sum) {
                sum->least = std::min(sum->least, point->least);
                sum->mean += point->mean;
                sum->most = std::max(sum->most, point->most);
            } else {
                sum = point;
            }
            ++counts[place];
        }
    }
    for (std::size_t i = 0; i < counts.size(); ++i) {
        if (all.points[i]) {
            all.points[i]->mean /= counts[i];
        }
    }
    return all;
}

std::vector<PlacedCurve> curves_of(const wire::JobHistory& history, wire::Figure figure) {
    std::vector<PlacedCurve> curves;
    for (const auto& curve : history.curves) {
        if (curve.figure == figure) {
            curves.push_back({&curve, history.step_ms});
        }
    }
    return curves;
}

} // namespace dockdist
