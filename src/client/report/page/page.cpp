#include "client/report/page/page.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

namespace dockdist {

extern const char* const page_css; // of all pages

namespace {

// `text` is HTML.
std::string cell(std::string_view tag, const Column& column, std::string_view text) {
    return fmt::format("<{0}{1}>{2}</{0}>", tag, column.align == Align::right ? " class=\"right\"" : "",
                       text);
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

std::string page_table(const CellTable& table, const std::vector<std::string>& links) {
    if (table.empty()) {
        return "";
    }
    std::string text = "<div class=\"scroll\"><table><thead><tr>";
    for (const auto& column : table.columns) {
        text += cell("th", column, html(column.title));
    }
    text += "</tr></thead><tbody>\n";
    for (std::size_t number = 0; number < table.rows.size(); ++number) {
        const auto& row = table.rows[number];
        text += "<tr>";
        for (std::size_t i = 0; i < table.columns.size(); ++i) {
            auto inner = html(i < row.size() ? row[i] : "");
            if (i == 0 && number < links.size() && !links[number].empty()) {
                inner = fmt::format("<a href=\"{}\">{}</a>", html(links[number]), inner);
            }
            text += cell("td", table.columns[i], inner);
        }
        text += "</tr>\n";
    }
    return text + "</tbody></table></div>\n";
}

std::string page_section(std::string_view title, const std::string& body) {
    return body.empty() ? "" : fmt::format("<h2>{}</h2>\n{}", html(title), body);
}

std::string whole_page(const PageHead& head, const std::string& body) {
    const auto refresh = head.refresh_s > 0
                             ? fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", head.refresh_s)
                             : "";
    const auto back =
        head.way_back.empty() ? "" : fmt::format("<p><a href=\"{}\">← all</a></p>\n", html(head.way_back));
    return fmt::format("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                       "style-src 'unsafe-inline'\">\n{6}"
                       "<title>{0}: {1}</title>\n<style>{2}</style>\n</head>\n<body>\n{7}<h1>{0}</h1>\n"
                       "<p class=\"verdict {3}\">{1}</p>\n"
                       "<p class=\"soft\">{4}</p>\n{5}</body>\n</html>\n",
                       html(head.title), html(head.verdict), page_css, head.state, html(head.under), body,
                       refresh, back);
}

} // namespace dockdist
