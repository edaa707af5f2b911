#include "check/report/report_page.hpp"

#include "check/report/page_parts.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace dockdist {
namespace {

std::string cell(std::string_view tag, const Column& column, std::string_view text) {
    return fmt::format("<{0}{1}>{2}</{0}>", tag, column.align == Align::right ? " class=\"right\"" : "",
                       html(text));
}

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

std::string section(std::string_view title, const std::string& body) {
    return body.empty() ? "" : fmt::format("<h2>{}</h2>\n{}", html(title), body);
}

std::string layers(const CheckReport& report) {
    std::string text;
    for (const auto layer : {CheckLayer::engine, CheckLayer::host, CheckLayer::container, CheckLayer::network,
                             CheckLayer::collective}) {
        static constexpr std::string_view titles[] = {"Engines", "Hosts", "Containers", "Network",
                                                      "Collectives"};
        text += section(titles[static_cast<std::size_t>(layer)],
                        rows_table(report, [&](const CheckRow& row) { return row.layer == layer; }));
    }
    return text;
}

} // namespace

std::string html(std::string_view text) {
    std::string safe;
    for (const char c : printable(text)) {
        switch (c) {
        case '&':
            safe += "&amp;";
            break;
        case '<':
            safe += "&lt;";
            break;
        case '>':
            safe += "&gt;";
            break;
        case '"':
            safe += "&quot;";
            break;
        case '\'':
            safe += "&#39;";
            break;
        default:
            safe += c;
        }
    }
    return safe;
}

std::string page_table(const CellTable& table) {
    if (table.empty()) {
        return "";
    }
    std::string text = "<div class=\"scroll\"><table><thead><tr>";
    for (const auto& column : table.columns) {
        text += cell("th", column, column.title);
    }
    text += "</tr></thead><tbody>\n";
    for (const auto& row : table.rows) {
        text += "<tr>";
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            text += cell("td", table.columns[i], i < row.size() ? row[i] : "");
        }
        text += "</tr>\n";
    }
    return text + "</tbody></table></div>\n";
}

std::string report_page(const CheckReport& report, const PageFacts& facts) {
    const auto bad = [](const CheckRow& row) { return row.state != CheckRow::State::pass; };
    const bool warned = std::ranges::any_of(report.rows, bad);
    const auto* state = !report.passed() ? "fail" : (warned ? "warn" : "pass");
    auto text = fmt::format("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                            "style-src 'unsafe-inline'\">\n"
                            "<title>{0}: {1}</title>\n<style>{2}</style>\n</head>\n<body>\n<h1>{0}</h1>\n"
                            "<p class=\"verdict {3}\">{1}</p>\n"
                            "<p class=\"soft\">{4} node{5} · {6} · dockdist {7}, check{8}</p>\n",
                            html(facts.cluster), html(verdict(report)), page_style, state,
                            report.nodes.size(), report.nodes.size() == 1 ? "" : "s", html(facts.time),
                            html(facts.version), facts.deep ? " --deep" : "");
    text += section("What to do", rows_table(report, bad));
    text += layers(report);
    text += section("GPUs", page_table(gpu_table(report)));
    const auto maps = page_matrix(bandwidth_matrix(report)) + page_matrix(latency_matrix(report)) +
                      page_matrix(pair_matrix(report));
    text += section("Between the nodes", maps.empty() ? "" : "<div class=\"maps\">\n" + maps + "</div>\n");
    text += section("NCCL bus bandwidth", page_curves(report) + page_table(collective_table(report)));
    return text + "</body>\n</html>\n";
}

} // namespace dockdist
