#include "report/page/page.hpp"

#include "core/text.hpp"
#include "report/page/page_style.hpp"

#include <fmt/format.h>

namespace dockdist {
namespace {

std::string cell(std::string_view tag, const Column& column, std::string_view text) {
    return fmt::format("<{0}{1}>{2}</{0}>", tag, column.align == Align::right ? " class=\"right\"" : "",
                       html(text));
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

std::string page_section(std::string_view title, const std::string& body) {
    return body.empty() ? "" : fmt::format("<h2>{}</h2>\n{}", html(title), body);
}

std::string whole_page(const PageHead& head, const std::string& body) {
    return fmt::format("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                       "style-src 'unsafe-inline'\">\n"
                       "<title>{0}: {1}</title>\n<style>{2}</style>\n</head>\n<body>\n<h1>{0}</h1>\n"
                       "<p class=\"verdict {3}\">{1}</p>\n"
                       "<p class=\"soft\">{4}</p>\n{5}</body>\n</html>\n",
                       html(head.title), html(head.verdict), page_style, head.state, html(head.under), body);
}

} // namespace dockdist
