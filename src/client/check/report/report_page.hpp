// A report as one self-contained HTML page: no script, no font, no picture from elsewhere. Readable on a
// phone, printable, in light and dark. Pure.
#pragma once

#include "client/check/report/report.hpp"

#include <string>

namespace dockdist {

struct PageFacts {
    std::string cluster{};
    std::string time{};    // when it was checked, as people write it
    std::string version{}; // of dockdist
    bool deep = false;
};

std::string report_page(const CheckReport& report, const PageFacts& facts);

} // namespace dockdist
