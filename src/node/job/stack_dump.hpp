// What a process that writes nothing is doing: its state, and the stacks of its threads where the image has
// a tool that reads them.
#pragma once

#include "node/system/environment.hpp"
#include "node/system/process_stat.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

struct DumpTarget {
    pid_t pid = 0;
    std::vector<std::string> argv{}; // empty: it is gone, or has none
};

// Pure: of a rank's processes the one to look at: the topmost Python, else the topmost that is no shell and
// not ours, else `root`. `argv_of` tells a process's words.
DumpTarget choose_process(const std::vector<ProcessStat>& all, pid_t root,
                          const std::function<std::vector<std::string>(pid_t)>& argv_of);

// Writes lines about the rank whose processes descend from `root` to stdout. Takes a minute at most. `tools`:
// the environment in which py-spy and gdb are looked up and run, as the caller's user. `advises`: where the
// image has neither, says so.
void dump_stacks(pid_t root, std::int64_t silent_ms, const Environment& tools, bool advises);

} // namespace dockdist::node
