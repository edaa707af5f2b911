// The whole terminal, for a command that draws on it until its end. What stood there is there again
// afterwards.
#pragma once

#include "client/report/output.hpp"

#include <string>
#include <vector>

namespace dockdist {

// The terminal on stdout, from here to its end, whatever that is but a kill. Nothing is drawn from the
// background: whoever begins or goes on there is stopped, as by a read from the terminal.
class FullScreen {
public:
    FullScreen();
    ~FullScreen();
    FullScreen(const FullScreen&) = delete;
    FullScreen& operator=(const FullScreen&) = delete;

    // Lines as dockdist has drawn them, no wider than the terminal. Only those that differ from the last ones
    // are written.
    void draw(const std::vector<std::string>& lines, TerminalSize size);
    void suspend();                                     // Ctrl-Z: until the shell brings it to the foreground
    bool broken() const { return sink_.failed() != 0; } // the terminal is gone

private:
    void write(const std::string& bytes);

    FdSink sink_{};
    std::vector<std::string> shown_{};
    TerminalSize size_{.columns = 0, .rows = 0};
};

} // namespace dockdist
