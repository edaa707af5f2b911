// What a rank's process is doing: its state, and the stacks of its threads: of Python by the toolkit's
// py-spy, which neither stops nor needs to trace it; of other programs by gdb, where the image has it.
#pragma once

#include "node/system/environment.hpp"
#include "node/system/process_stat.hpp"
#include "shared/wire/stacks.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

struct LookTarget {
    pid_t pid = 0;
    std::vector<std::string> argv{}; // empty: it is gone, or has none
    std::string program{};           // the file that runs, whatever the process calls itself; empty: not told
    bool is_python() const;
};

// Pure: of a rank's processes the one to look at: the topmost Python, else the topmost that is no shell and
// not ours, else `root`. `target_of` tells of a process.
LookTarget choose_process(const std::vector<ProcessStat>& all, pid_t root,
                          const std::function<LookTarget(pid_t)>& target_of);

// Pure: the threads of what `py-spy dump --json` wrote, whatever stands before it. Nothing: it is none.
std::vector<wire::ThreadStack> parse_py_spy(std::string_view output);

// The process of the rank whose processes descend from `root`.
pid_t rank_process(pid_t root);
pid_t rank_process(const std::vector<ProcessStat>& all, pid_t root); // of this container's

// Looks at the rank whose processes descend from `root`, twice, `pause_ms` apart; or for a minute longer
// where a tool hangs. `tools`: the environment in which py-spy and gdb of the image are looked up and run, as
// the caller's user.
inline constexpr std::int64_t usual_pause_ms = 500;
wire::RankStack look_at_rank(pid_t root, const Environment& tools, std::int64_t pause_ms = usual_pause_ms);

} // namespace dockdist::node
