// A block of lines at the bottom of the terminal that is drawn again in place. Only makes the bytes; the
// caller writes them. Between two frames the cursor is visible and stands at the start of the line below the
// block, so nothing has to be restored when the program ends at any moment.
#pragma once

#include "client/report/output.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

class LiveRegion {
public:
    // `lines`: safe text without newlines. They are clipped to the width; the caller keeps them to
    // max_lines().
    std::string draw(const std::vector<std::string>& lines, TerminalSize size, bool unicode);

    // Removes the block, so that what is printed next stands in its place.
    std::string erase(TerminalSize size);

    // The block stays on the screen as ordinary lines.
    void release() { widths_.clear(); }

    bool visible() const { return !widths_.empty(); }

    static std::size_t max_lines(TerminalSize size) { return size.rows > 1 ? size.rows - 1 : 1; }

private:
    std::string to_top(TerminalSize size) const;

    std::vector<std::size_t> widths_{}; // of the lines on the screen
};

} // namespace dockdist
