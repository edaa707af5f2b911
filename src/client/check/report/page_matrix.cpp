#include "client/check/report/page_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dockdist {
namespace {

constexpr std::size_t many = 16; // nodes; from here on the cells are small

// The best measurement of the matrix is 1; one that is half as good, 0.5.
double goodness(const Matrix& matrix, double value, double best) {
    if (value <= 0 || best <= 0) {
        return 0;
    }
    return std::clamp(matrix.less_is_better ? best / value : value / best, 0.0, 1.0);
}

// From near white to a deep blue. The lightness falls evenly, so that it also reads in grey on paper.
std::string colours(double good) {
    const auto mix = [&](double light, double deep) {
        return static_cast<int>(std::lround(light + (deep - light) * good));
    };
    return fmt::format("background:#{:02x}{:02x}{:02x};color:{}", mix(247, 8), mix(251, 69), mix(255, 148),
                       good > 0.5 ? "#fff" : "#10161c");
}

} // namespace

std::string page_matrix(const Matrix& matrix) {
    if (matrix.empty()) {
        return "";
    }
    double best = 0;
    for (const auto& value : matrix.values) {
        if (value && *value > 0) {
            best = best == 0 ? *value
                             : (matrix.less_is_better ? std::min(best, *value) : std::max(best, *value));
        }
    }
    const auto nodes = matrix.names.size();
    auto text = fmt::format(
        "<figure><h3>{}, {}</h3><p class=\"soft\">{}; the lighter, the slower{}</p>\n"
        "<div class=\"scroll\"><table class=\"map{}\"><thead><tr><th></th>",
        html(matrix.title), html(matrix.unit),
        matrix.symmetric ? "each pair of nodes" : "from the row's node to the column's",
        std::ranges::find(matrix.slow, true) != matrix.slow.end() ? "; framed: slow beside the others" : "",
        nodes > many ? " many" : "");
    for (const auto& name : matrix.names) {
        text += fmt::format("<th>{}</th>", html(name));
    }
    text += "</tr></thead><tbody>\n";
    for (std::size_t from = 0; from < nodes; ++from) {
        text += fmt::format("<tr><th>{}</th>", html(matrix.names[from]));
        for (std::size_t to = 0; to < nodes; ++to) {
            const auto& value = matrix.values[from * nodes + to];
            if (!value) {
                text += "<td></td>";
                continue;
            }
            text += fmt::format("<td{} style=\"{}\" title=\"{} → {}: {} {}\">{}</td>",
                                matrix.slow[from * nodes + to] ? " class=\"slow\"" : "",
                                colours(goodness(matrix, *value, best)), html(matrix.names[from]),
                                html(matrix.names[to]), matrix.cell(from, to), html(matrix.unit),
                                matrix.cell(from, to));
        }
        text += "</tr>\n";
    }
    return text + "</tbody></table></div></figure>\n";
}

} // namespace dockdist
