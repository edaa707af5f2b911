// Asks a person at the terminal.
#pragma once

#include "client/async/task.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <string>

namespace dockdist {

bool has_terminal(); // and what this program says is seen on one

// On /dev/tty, without echo; the loop goes on meanwhile. Errors: config, when there is no terminal.
Task<Result<std::string>> ask_on_terminal(boost::asio::any_io_executor executor, std::string prompt);

// Shown there until it is destroyed.
class TerminalNote {
public:
    explicit TerminalNote(const std::string& text);
    TerminalNote(const TerminalNote&) = delete;
    TerminalNote& operator=(const TerminalNote&) = delete;
    ~TerminalNote();

private:
    int terminal_;
};

} // namespace dockdist
