// A terminal of a node's own, for a command that a person sits in front of.
#pragma once

#include "node/system/os.hpp"
#include "shared/core/result.hpp"

#include <string>

namespace dockdist::node {

// Both ends close-on-exec. The command's end belongs to `owner`, so that its programs can open it by name
// (screen, gpg, mesg).
struct PseudoTerminal {
    Fd own{};   // non-blocking; whoever reads gets EIO once the command's end is closed everywhere
    Fd other{}; // the command's
};
Result<PseudoTerminal> open_terminal(Owner owner);

void set_window(int fd, int rows, int columns); // programs in front hear of it (SIGWINCH)

// In the command's process: a session of its own, whose terminal this is, on all three streams.
Status enter_terminal(int other);

} // namespace dockdist::node
