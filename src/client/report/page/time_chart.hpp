// Curves over the time, as a picture in a page (SVG). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct TimeCurve {
    struct Point {
        double least = 0, mean = 0, most = 0;
    };
    std::string name{};                         // "GPU 3"
    std::int64_t begin_ms = 0, step_ms = 1000;  // of the first point, and of each
    std::vector<std::optional<Point>> points{}; // one that is not there leaves a gap
};

struct TimeChart {
    // How figures are written: by what they are divided.
    enum class Scale { percent, bytes, bytes_per_second, plain };
    std::string title{}; // "GPU power"
    std::string unit{};  // of Scale::plain: "W"
    Scale scale = Scale::plain;
    std::vector<TimeCurve> curves{}; // the range of the only one is shaded; of several each has its colour
    std::int64_t end_ms = 0;         // of the time's axis, which begins at 0
};

// A figure with its title, its unit and, of several curves, their names; empty where there is no point.
std::string page_time_chart(const TimeChart& chart);

} // namespace dockdist
