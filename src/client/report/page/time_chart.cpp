#include "client/report/page/time_chart.hpp"

#include "client/report/page/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace dockdist {
namespace {

// The chart's own units; the page scales it.
constexpr double chart_width = 480, chart_height = 200;
constexpr double chart_left = 44, chart_right = 14, chart_top = 10, chart_bottom = 26;
constexpr std::size_t colours = 8;

struct Axis {
    double top = 1;     // the highest value that is drawn
    double divisor = 1; // of the figures at its side
    std::string unit{};
};

// The next of 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, … that is not below.
double round_up(double value) {
    const auto decade = std::pow(10, std::floor(std::log10(value)));
    for (const double step : {1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0}) {
        if (value <= step * decade * 1.0000001) {
            return step * decade;
        }
    }
    return 10 * decade;
}

Axis axis_of(const TimeChart& chart, double most) {
    constexpr double kib = 1024;
    static constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
    if (chart.scale == TimeChart::Scale::percent) {
        return {.top = 100, .unit = "%"};
    }
    if (most <= 0) {
        return {.unit = chart.scale == TimeChart::Scale::plain ? chart.unit : "B"};
    }
    if (chart.scale == TimeChart::Scale::plain) {
        return {.top = round_up(most), .unit = chart.unit};
    }
    std::size_t power = 0;
    Axis axis;
    while (most / axis.divisor >= kib && power + 1 < units.size()) {
        axis.divisor *= kib;
        ++power;
    }
    axis.unit = units.at(power);
    if (chart.scale == TimeChart::Scale::bytes_per_second) {
        axis.unit += "/s";
    }
    axis.top = round_up(most / axis.divisor) * axis.divisor;
    return axis;
}

std::string time_label(double ms, double end_ms) {
    constexpr double minute = 60e3, hour = 60 * minute, day = 24 * hour;
    if (ms <= 0) {
        return "0";
    }
    const auto [unit, name] = end_ms >= 3 * day      ? std::pair{day, "d"}
                              : end_ms >= 3 * hour   ? std::pair{hour, "h"}
                              : end_ms >= 3 * minute ? std::pair{minute, "min"}
                                                     : std::pair{1000.0, "s"};
    return fmt::format("{:.3g} {}", ms / unit, name);
}

class TimeDrawing {
public:
    TimeDrawing(const TimeChart& chart, Axis axis)
        : chart_(chart), axis_(std::move(axis)), end_ms_(std::max(static_cast<double>(chart.end_ms), 1.0)) {}

    std::string svg() const {
        auto text = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{} over time\">\n",
                                chart_width, chart_height, html(chart_.title));
        text += axes();
        if (chart_.curves.size() == 1) {
            text += range(chart_.curves.front());
        }
        for (std::size_t i = 0; i < chart_.curves.size(); ++i) {
            text += curve(chart_.curves[i], i % colours);
        }
        return text + "</svg>\n";
    }

private:
    double x(const TimeCurve& curve, std::size_t point) const {
        const auto middle = static_cast<double>(curve.begin_ms) +
                            (static_cast<double>(point) + 0.5) * static_cast<double>(curve.step_ms);
        return at(std::clamp(middle, 0.0, end_ms_));
    }
    double at(double ms) const {
        return chart_left + ms / end_ms_ * (chart_width - chart_left - chart_right);
    }
    double y(double value) const {
        const auto share = std::clamp(value / axis_.top, 0.0, 1.0);
        return chart_height - chart_bottom - share * (chart_height - chart_top - chart_bottom);
    }

    std::string axes() const {
        constexpr int steps = 4;
        std::string text;
        for (int i = 0; i <= steps; i += 2) {
            const auto value = axis_.top * i / steps;
            text += fmt::format("<path class=\"axis\" d=\"M{:.0f} {:.1f}H{:.0f}\"/><text x=\"{:.0f}\" "
                                "y=\"{:.1f}\" text-anchor=\"end\">{:.4g}</text>\n",
                                chart_left, y(value), chart_width - chart_right, chart_left - 5, y(value) + 4,
                                value / axis_.divisor);
        }
        for (int i = 0; i <= steps; ++i) {
            const auto ms = end_ms_ * i / steps;
            const auto* anchor = i == 0 ? "start" : i == steps ? "end" : "middle";
            text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>\n", at(ms),
                                chart_height - 8, anchor, time_label(ms, end_ms_));
        }
        return text;
    }

    // The pieces between the gaps, as `draw` makes them of the places from one to before the other.
    template <class Draw>
    static std::string pieces(const TimeCurve& curve, Draw draw) {
        std::string text;
        for (std::size_t i = 0; i < curve.points.size();) {
            std::size_t end = i;
            while (end < curve.points.size() && curve.points[end]) {
                ++end;
            }
            if (end > i) {
                text += draw(i, end);
            }
            i = end + 1;
        }
        return text;
    }

    std::string range(const TimeCurve& curve) const {
        return pieces(curve, [&](std::size_t begin, std::size_t end) {
            std::string there, back;
            for (auto i = begin; i < end; ++i) {
                there += fmt::format("{}{:.1f} {:.1f}", i == begin ? "M" : "L", x(curve, i),
                                     y(curve.points[i]->most));
                back.insert(0, fmt::format("L{:.1f} {:.1f}", x(curve, i), y(curve.points[i]->least)));
            }
            return "<path class=\"band\" d=\"" + there + back + "Z\"/>\n";
        });
    }

    std::string curve(const TimeCurve& curve, std::size_t colour) const {
        const auto path = pieces(curve, [&](std::size_t begin, std::size_t end) {
            std::string piece;
            for (auto i = begin; i < end; ++i) {
                piece += fmt::format("{}{:.1f} {:.1f}", i == begin ? "M" : "L", x(curve, i),
                                     y(curve.points[i]->mean));
            }
            return piece + (end == begin + 1 ? "h.1" : ""); // a dot
        });
        return fmt::format("<path class=\"curve c{}\" stroke-linecap=\"round\" d=\"{}\"/>\n", colour, path);
    }

    const TimeChart& chart_;
    Axis axis_;
    double end_ms_;
};

std::string curve_names(const TimeChart& chart) {
    if (chart.curves.size() < 2) {
        return "";
    }
    std::string text = "<p class=\"legend soft\">";
    for (std::size_t i = 0; i < chart.curves.size(); ++i) {
        text += fmt::format("<span><i class=\"c{}\"></i>{}</span>", i % colours, html(chart.curves[i].name));
    }
    return text + "</p>\n";
}

} // namespace

std::string page_time_chart(const TimeChart& chart) {
    TimeChart drawn = chart;
    std::erase_if(drawn.curves, [](const TimeCurve& curve) {
        return std::ranges::none_of(curve.points, [](const auto& point) { return point.has_value(); });
    });
    if (drawn.curves.empty()) {
        return "";
    }
    double most = 0;
    for (const auto& curve : drawn.curves) {
        for (const auto& point : curve.points) {
            most = std::max(most, !point ? 0 : drawn.curves.size() == 1 ? point->most : point->mean);
        }
    }
    const auto axis = axis_of(drawn, most);
    return fmt::format("<figure><h3>{}, {}</h3>\n{}{}</figure>\n", html(drawn.title), html(axis.unit),
                       TimeDrawing(drawn, axis).svg(), curve_names(drawn));
}

} // namespace dockdist
