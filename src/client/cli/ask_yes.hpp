// A question on the terminal that is answered by yes or no.
#pragma once

#include "client/cli/context.hpp"

#include <string>

namespace dockdist {

// Whether anybody can be asked: people at a terminal, who read text.
bool can_ask(const Context& context);

// "QUESTION [y/N] ", on the terminal. Anything but y or yes, and the terminal's end, is a no. What is drawn
// meanwhile waits.
Task<bool> ask_yes(const Context& context, std::string question);

} // namespace dockdist
