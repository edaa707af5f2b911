// What the HTML pages of reports are made of: one self-contained file each, no script, no font, no picture
// from elsewhere; readable on a phone, printable, in light and dark. Pure.
#pragma once

#include "client/report/cell_table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// Foreign text as HTML text, or as the value of a quoted attribute; control characters made visible.
std::string html(std::string_view text);

// The parts of a page: pieces of HTML, empty where there is nothing to show.
std::string page_section(std::string_view title, const std::string& body);
// `links`: of each row's first cell, relative to the page; empty ones are none.
std::string page_table(const CellTable& table, const std::vector<std::string>& links = {});

struct PageHead {
    std::string title{};    // "vision"
    std::string verdict{};  // "24 checks passed, 1 warning"
    std::string state{};    // "pass", "warn" or "fail": its colour
    std::string under{};    // one soft line below it
    std::string way_back{}; // above all: where the page before is; empty: nowhere
    int refresh_s = 0;      // of a page that is served: asked for again after so long; 0: never
};
std::string whole_page(const PageHead& head, const std::string& body);

} // namespace dockdist
