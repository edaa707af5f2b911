// What the HTML pages of reports are made of: one self-contained file each, no script, no font, no picture
// from elsewhere; readable on a phone, printable, in light and dark. Pure.
#pragma once

#include "report/cell_table.hpp"

#include <string>
#include <string_view>

namespace dockdist {

// Foreign text as HTML text, or as the value of a quoted attribute; control characters made visible.
std::string html(std::string_view text);

// The parts of a page: pieces of HTML, empty where there is nothing to show.
std::string page_section(std::string_view title, const std::string& body);
std::string page_table(const CellTable& table);

struct PageHead {
    std::string title{};   // "vision"
    std::string verdict{}; // "24 checks passed, 1 warning"
    std::string state{};   // "pass", "warn" or "fail": its colour
    std::string under{};   // one soft line below it
};
std::string whole_page(const PageHead& head, const std::string& body);

} // namespace dockdist
