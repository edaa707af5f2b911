// What /proc tells of a rank's process and of those below it, read as the rank's own user.
#pragma once

#include "node/system/process_stat.hpp"
#include "shared/wire/stacks.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

// At one moment.
struct TreeLook {
    std::vector<ProcessStat> processes{}; // the rank's own first
    std::int64_t io_bytes = -1;           // read and written so far; -1: not to be had
    std::int64_t runs = -1;               // of the rank's own: runs_of()
    std::int64_t at_ms = 0;
};

TreeLook look_at_tree(pid_t root);
std::int64_t ticks_of(const std::vector<ProcessStat>& processes); // of all, with what they have waited for

// How often a process's main thread has been given a processor so far: it stands as long as the thread does,
// while others of it may run. -1: not to be had.
std::int64_t runs_of(pid_t pid);
std::int64_t runs_in(std::string_view status); // pure: of the text of /proc/PID/status

wire::RankStack::State state_of(char letter);
std::string wait_of(const ProcessStat& process); // the kernel's function that it waits in
std::string read_file_of(pid_t pid);             // the file, pipe or socket whose bytes it waits for
// Pure: whether the text of /proc/PID/syscall says that it waits for bytes; of which descriptor.
std::optional<int> read_descriptor(std::string_view syscall);

} // namespace dockdist::node
