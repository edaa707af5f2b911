#include "client/report/live_region.hpp"

#include "client/report/display_text.hpp"

#include <algorithm>

namespace dockdist {

// A terminal that has become narrower has wrapped the lines that were drawn when it was wider.
std::string LiveRegion::to_top(TerminalSize size) const {
    std::size_t rows = 0;
    for (const auto width : widths_) {
        rows += width == 0 ? 1 : (width + size.columns - 1) / size.columns;
    }
    rows = std::min(rows, max_lines(size));
    return rows > 0 ? "\x1b[" + std::to_string(rows) + "A" : "";
}

std::string LiveRegion::draw(const std::vector<std::string>& lines, TerminalSize size, bool unicode) {
    std::string bytes = "\x1b[?25l" + to_top(size);
    widths_.clear();
    for (const auto& line : lines) {
        // The last column stays free: terminals differ in where the cursor is after it.
        const auto shown = clipped(line, size.columns - 1, unicode);
        widths_.push_back(display_width(shown));
        bytes += "\r" + shown + "\x1b[K\n";
    }
    return bytes + "\r\x1b[J\x1b[?25h";
}

std::string LiveRegion::erase(TerminalSize size) {
    if (!visible()) {
        return {};
    }
    std::string bytes = to_top(size) + "\r\x1b[J";
    widths_.clear();
    return bytes;
}

} // namespace dockdist
