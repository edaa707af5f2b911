// Where output goes, and what stands at the other end.
#pragma once

#include "client/report/displayable.hpp"

#include <cstddef>

namespace dockdist {

// Takes what may be shown for a file descriptor number (1 or 2). May block: that is how a slow reader slows
// its producer.
class OutputSink {
public:
    OutputSink() = default;
    OutputSink(const OutputSink&) = delete;
    OutputSink& operator=(const OutputSink&) = delete;
    virtual ~OutputSink() = default;
    virtual void write(int fd, const Displayable& text) = 0;
};

// Writes everything, over short writes, EINTR and non-blocking descriptors. Once a descriptor's reader has
// gone, or its disk is full, what follows for it is dropped and failed() says so. The program is expected to
// ignore SIGPIPE.
class FdSink : public OutputSink {
public:
    void write(int fd, const Displayable& text) override;
    // errno of the first write that failed, 0 while all went well.
    int failed() const { return error_; }

private:
    int error_ = 0;
    unsigned broken_ = 0; // a bit a descriptor
};

struct TerminalSize {
    std::size_t columns = 80;
    std::size_t rows = 24;
};

struct OutputTraits {
    bool tty = false;        // a terminal that obeys escape sequences: TERM=dumb is none
    bool colour = false;     // a tty, and NO_COLOR is unset or empty
    bool unicode = false;    // the locale's encoding is UTF-8
    std::size_t columns = 0; // of a terminal, also of a dumb one; 0: a pipe or a file, where nothing is cut

    // A terminal that would show signs beyond ASCII as something else.
    bool ascii_only() const { return columns > 0 && !unicode; }
};
OutputTraits probe_output(int fd);
// What is written by others than people read: whole, in any width.
inline constexpr OutputTraits no_terminal{.unicode = true};

// Asked anew at each use, so that a resized window needs no signal handler. `columns` and `rows` are never 0.
TerminalSize terminal_size(int fd);

// Whether both are the same terminal, pipe or file, so that the order of what is written to them shows.
bool same_output(int a, int b);

} // namespace dockdist
