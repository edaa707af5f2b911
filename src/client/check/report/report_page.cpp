#include "client/check/report/report_page.hpp"

#include "client/check/report/page_parts.hpp"
#include "shared/core/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace dockdist {
namespace {

std::string row_html(const CheckRow& row) {
    const auto state = to_string(row.state);
    return fmt::format(
        "<tr><td class=\"state {0}\">{0}</td><td class=\"name\">{1}</td><td class=\"name\">{2}</td>"
        "<td class=\"found\">{3}{4}</td></tr>\n",
        state, html(row.subject), html(row.check), html(row.text),
        row.hint.empty() ? "" : fmt::format("<div class=\"hint\">→ {}</div>", html(row.hint)));
}

std::string rows_table(const CheckReport& report, const std::function<bool(const CheckRow&)>& wanted) {
    std::string rows;
    for (const auto& row : report.rows) {
        rows += wanted(row) ? row_html(row) : "";
    }
    return rows.empty()
               ? ""
               : "<table class=\"rows\"><thead><tr><th></th><th>WHERE</th><th>CHECK</th><th>FOUND</th>"
                 "</tr></thead><tbody>\n" +
                     rows + "</tbody></table>\n";
}

std::string layers(const CheckReport& report) {
    std::string text;
    for (const auto layer : {CheckLayer::engine, CheckLayer::host, CheckLayer::container, CheckLayer::network,
                             CheckLayer::collective}) {
        static constexpr std::string_view titles[] = {"Engines", "Hosts", "Containers", "Network",
                                                      "Collectives"};
        text += page_section(titles[static_cast<std::size_t>(layer)],
                             rows_table(report, [&](const CheckRow& row) { return row.layer == layer; }));
    }
    return text;
}

} // namespace

std::string report_page(const CheckReport& report, const PageFacts& facts) {
    const auto bad = [](const CheckRow& row) { return row.state != CheckRow::State::pass; };
    const bool warned = std::ranges::any_of(report.rows, bad);
    const auto* state = !report.passed() ? "fail" : (warned ? "warn" : "pass");
    const PageHead head{.title = facts.cluster,
                        .verdict = verdict(report),
                        .state = state,
                        .under = fmt::format("{} · {} · dockdist {}, check{}",
                                             counted(report.nodes.size(), "node"), facts.time, facts.version,
                                             facts.deep ? " --deep" : "")};
    std::string text;
    text += page_section("What to do", rows_table(report, bad));
    text += layers(report);
    text += page_section("GPUs", page_table(gpu_table(report)));
    const auto maps = page_matrix(bandwidth_matrix(report)) + page_matrix(latency_matrix(report)) +
                      page_matrix(pair_matrix(report));
    text +=
        page_section("Between the nodes", maps.empty() ? "" : "<div class=\"maps\">\n" + maps + "</div>\n");
    text += page_section("NCCL bus bandwidth", page_curves(report) + page_table(collective_table(report)));
    return whole_page(head, text);
}

} // namespace dockdist
