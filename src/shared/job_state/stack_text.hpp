// What a rank is doing, in words: for the job's log and for `dockdist stacks`.
#pragma once

#include "shared/wire/stacks.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

// "process 12 (python3 train.py) sleeps in futex_wait, 0 % CPU, 3 threads"; what is wrong where it has none.
std::string process_text(const wire::RankStack& stack);
// "MainThread, holds the GIL".
std::string thread_text(const wire::ThreadStack& thread);

// All that is known of it, in lines of the job's log. `advises`: also what would help where stacks cannot be
// read.
std::string stack_text(const wire::RankStack& stack, bool advises);

} // namespace dockdist
