// Text as a terminal shows it: which escape sequences may pass, how many columns it takes, where to cut it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// Whether every byte is printable ASCII, a tab or a newline. Fast: compilers make vector code of it.
bool is_plain_ascii(std::string_view text);

enum class Colours { keep, drop };

// One line of foreign text made safe. Colours (SGR sequences) pass or vanish, and when one passed the result
// ends with a reset. Sequences that only serve a live display (erase in line, cursor up, cursor hidden or
// shown) vanish: what they would act on is not there. Everything else that controls a terminal becomes
// visible, see printable().
std::string safe_line(std::string_view line, Colours colours);

// The same without colours, and with tabs as single spaces: for cells, rows and other places of a known
// width.
std::string safe_cell(std::string_view text);

// Columns that `text` takes; SGR sequences, combining marks and variation selectors take none, East Asian
// wide characters and emoji two.
std::size_t display_width(std::string_view text);

// `text` cut to `columns`, the last of them an ellipsis ("…", or "..." without Unicode) when something was
// cut. Its SGR sequences stay, and stay closed.
std::string clipped(std::string_view text, std::size_t columns, bool unicode);

// The same for text without colours, with the ellipsis in the middle: a name's both ends tell it from others.
std::string clipped_middle(std::string_view text, std::size_t columns, bool unicode);

// Each of the lines that is wider than `columns` (0: none is) broken at spaces, going on at column `hanging`,
// or at the line's own indent where that is more. No word is broken: one that is wider stands alone, and
// whoever copies it gets it whole. Colours take no room.
std::string wrap_words(std::string_view lines, std::size_t columns, std::size_t hanging);

// The signs that dockdist's own texts use beyond ASCII as ASCII: "->" for an arrow. Others stay.
std::string ascii_signs(std::string_view text);

// `text` without colours in lines of at most `columns`, broken at spaces where there are any; at least one.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

// `text` followed by spaces up to `columns`.
std::string padded(std::string_view text, std::size_t columns);

// Bytes of the escape sequence at the front of `text`, where it is one that dockdist's own display is made
// of: colours, and what LiveRegion draws with. 0 where it is none.
std::size_t drawn_sequence(std::string_view text);

inline constexpr std::string_view sgr_reset = "\x1b[0m";

} // namespace dockdist
