// What of a failed program's output tells why it failed, for people who see a screenful of it. Its end is
// kept, and what stands far above the end and is the cause: the exceptions of a traceback and where they were
// raised (a chain's first and last, also in boxes and behind a rank's tag), a signal that Python names, what
// C++ throws, with its dozens of frames after it, NCCL's warnings, what has no memory. What launchers say of
// a rank that has failed, and victims' tracebacks, come last. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dockdist {

struct Screenful {
    std::size_t lines = 16;
    std::size_t bytes = 1600; // a screen of 80 columns and 20 lines
};

struct TellingLines {
    std::string text{};       // lines with '\n' between them; "… 23 lines" in the place of others
    std::size_t left_out = 0; // lines, those that such a line in `from` had left out included
};

// All of it, without escape sequences and empty lines, where that fits. A longer line keeps both its ends.
TellingLines telling_lines(std::string_view from, Screenful most = {});

} // namespace dockdist
