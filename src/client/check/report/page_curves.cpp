#include "client/check/report/page_parts.hpp"
#include "shared/core/median.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace dockdist {
namespace {

// The chart's own units; the page scales it.
constexpr double width = 480, height = 260;
constexpr double left = 44, right = 12, top = 10, bottom = 28;

struct Range {
    double least = 0, middle = 0, most = 0; // GB/s
};

using Curve = std::map<std::uint64_t, Range>; // by bytes

struct Chart {
    std::string operation{};
    std::map<std::pair<Scope, std::string>, Curve> curves{}; // by data type
    std::uint64_t first = 0, last = 0;                       // bytes
    double least = 0, most = 0;                              // GB/s, of those that are more than none
};

std::vector<Chart> charts_of(const CheckReport& report) {
    std::vector<Chart> charts;
    std::map<std::pair<std::string, std::pair<Scope, std::string>>,
             std::map<std::uint64_t, std::vector<double>>>
        measurements;
    for (const auto& measurement : report.collectives) {
        auto chart = std::ranges::find(charts, measurement.operation, &Chart::operation);
        if (chart == charts.end()) {
            chart = charts.insert(chart, Chart{.operation = measurement.operation,
                                               .first = measurement.bytes,
                                               .last = measurement.bytes});
        }
        chart->first = std::min(chart->first, measurement.bytes);
        chart->last = std::max(chart->last, measurement.bytes);
        if (measurement.bus_bandwidth > 0) {
            chart->least = chart->least == 0 ? measurement.bus_bandwidth
                                             : std::min(chart->least, measurement.bus_bandwidth);
            chart->most = std::max(chart->most, measurement.bus_bandwidth);
        }
        measurements[{measurement.operation,
                      {scope_of(measurement, report.nodes.size()), measurement.data_type}}][measurement.bytes]
            .push_back(measurement.bus_bandwidth);
    }
    for (const auto& [key, sizes] : measurements) {
        auto& curve = std::ranges::find(charts, key.first, &Chart::operation)->curves[key.second];
        for (const auto& [bytes, values] : sizes) {
            const auto [least, most] = std::ranges::minmax(values);
            curve[bytes] = {.least = least, .middle = median(values), .most = most};
        }
    }
    return charts;
}

class Drawing {
public:
    explicit Drawing(const Chart& chart)
        : chart_(chart), first_(std::log2(static_cast<double>(std::max<std::uint64_t>(chart.first, 1)))),
          last_(std::log2(static_cast<double>(std::max<std::uint64_t>(chart.last, 2)))),
          lowest_(chart.least > 0 ? static_cast<int>(std::floor(std::log10(chart.least))) : 0),
          highest_(std::max(chart.most > 0 ? static_cast<int>(std::ceil(std::log10(chart.most))) : 1,
                            lowest_ + 1)) {}

    std::string svg() const {
        auto text =
            fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"bus bandwidth of {} over the "
                        "size\">\n",
                        width, height, html(chart_.operation));
        text += axes();
        for (const auto& [key, curve] : chart_.curves) {
            text += band(key.first, curve) + line(key.first, key.second, curve);
        }
        return text + "</svg>\n";
    }

private:
    double x(std::uint64_t bytes) const {
        const auto span = last_ - first_;
        const auto share = span <= 0 ? 0.5 : (std::log2(static_cast<double>(bytes)) - first_) / span;
        return left + share * (width - left - right);
    }
    // Logarithmic: NVLink within a node and a network between them fit into one picture.
    double y(double bandwidth) const {
        const auto decade = bandwidth > 0 ? std::max<double>(std::log10(bandwidth), lowest_) : lowest_;
        return height - bottom - (decade - lowest_) / (highest_ - lowest_) * (height - top - bottom);
    }

    std::string axes() const {
        std::string text;
        for (int decade = lowest_; decade <= highest_; ++decade) {
            const auto value = std::pow(10, decade);
            text += fmt::format(
                "<path class=\"axis\" d=\"M{:.1f} {:.1f}H{:.1f}\"/><text x=\"{:.1f}\" y=\"{:.1f}\" "
                "text-anchor=\"end\">{:g}</text>\n",
                left, y(value), width - right, left - 5, y(value) + 4, value);
        }
        const auto sizes = sizes_to_name();
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const auto* anchor = i == 0 ? "start" : (i + 1 == sizes.size() ? "end" : "middle");
            text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x(sizes[i]),
                                height - 10, anchor, short_size(sizes[i]));
        }
        return text;
    }

    // The first, the last, and up to three between them.
    std::vector<std::uint64_t> sizes_to_name() const {
        std::vector<std::uint64_t> all;
        for (const auto& [key, curve] : chart_.curves) {
            for (const auto& [bytes, range] : curve) {
                all.push_back(bytes);
            }
        }
        std::ranges::sort(all);
        const auto rest = std::ranges::unique(all);
        all.erase(rest.begin(), rest.end());
        std::vector<std::uint64_t> named;
        const auto steps = std::min<std::size_t>(all.size(), 5);
        for (std::size_t i = 0; i < steps; ++i) {
            named.push_back(all[steps == 1 ? 0 : i * (all.size() - 1) / (steps - 1)]);
        }
        return named;
    }

    std::string band(Scope scope, const Curve& curve) const {
        if (scope != Scope::node) {
            return "";
        }
        std::string there, back;
        for (const auto& [bytes, range] : curve) {
            there += fmt::format("{}{:.1f} {:.1f}", there.empty() ? "M" : "L", x(bytes), y(range.most));
            back = fmt::format("L{:.1f} {:.1f}", x(bytes), y(range.least)) + back;
        }
        return "<path class=\"band\" d=\"" + there + back + "Z\"/>\n";
    }

    std::string line(Scope scope, const std::string& data_type, const Curve& curve) const {
        static constexpr std::string_view classes[] = {"one", "pairs", "all"};
        std::string path;
        for (const auto& [bytes, range] : curve) {
            path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(bytes), y(range.middle));
        }
        if (curve.size() == 1) {
            path += "h.1"; // a dot
        }
        return fmt::format("<path class=\"curve {}{}\" stroke-linecap=\"round\" d=\"{}\"/>\n",
                           classes[static_cast<std::size_t>(scope)], data_type == "bf16" ? " bf16" : "",
                           path);
    }

    const Chart& chart_;
    double first_, last_;  // log2 of bytes
    int lowest_, highest_; // log10 of GB/s
};

std::string legend(const CheckReport& report) {
    bool scopes[3] = {};
    bool bf16 = false;
    bool copies = false;
    for (const auto& measurement : report.collectives) {
        scopes[static_cast<std::size_t>(scope_of(measurement, report.nodes.size()))] = true;
        bf16 = bf16 || measurement.data_type == "bf16";
        copies = copies || measurement.copy;
    }
    std::string text = "<p class=\"legend soft\">";
    if (scopes[0]) {
        text += fmt::format("<span><i class=\"one\"></i>one node{}{}</span>",
                            report.nodes.size() > 1 ? ": the median, from the slowest to the fastest" : "",
                            copies ? " (of one GPU: a copy in its memory, no network)" : "");
    }
    text += scopes[1] ? "<span><i class=\"pairs\"></i>two nodes: the median</span>" : "";
    text += scopes[2] ? "<span><i class=\"all\"></i>all nodes</span>" : "";
    text += bf16 ? "<span><i class=\"dashed\"></i>bf16; else float</span>" : "";
    return text + "</p>\n";
}

} // namespace

std::string page_curves(const CheckReport& report) {
    if (report.collectives.empty()) {
        return "";
    }
    auto text = legend(report) + "<div class=\"charts\">\n";
    for (const auto& chart : charts_of(report)) {
        text += fmt::format("<figure><h3>{}, GB/s</h3>\n{}</figure>\n", html(chart.operation),
                            Drawing(chart).svg());
    }
    return text + "</div>\n";
}

} // namespace dockdist
