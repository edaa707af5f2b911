// One process, as /proc/PID/stat tells it (proc(5)).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

struct ProcessStat {
    pid_t pid = 0, parent = 0, group = 0, session = 0;
    std::string name{};         // 15 bytes at most; its program's, where it has given itself no other
    char state = '?';           // R running, S sleeping, D waits in the kernel, T stopped, Z zombie, X dead
    std::int64_t cpu_ticks = 0; // user and system time, in sysconf(_SC_CLK_TCK)
    std::int64_t waited_ticks = 0; // of children that it has waited for, with their own such
    std::int64_t threads = 0;
    std::int64_t started_ticks = 0;  // since the machine's start; with the pid it is one process for ever
    std::int64_t resident_pages = 0; // of its memory
    bool has_ended() const { return state == 'Z' || state == 'X'; }
};

// Pure.
std::optional<ProcessStat> parse_process_stat(std::string_view text);

std::optional<ProcessStat> read_process_stat(pid_t pid); // empty: it is gone
std::vector<ProcessStat> all_processes();                // of this container

// Pure: of `all` those that descend from one of `roots`, and these.
std::vector<ProcessStat> tree_of(const std::vector<ProcessStat>& all, const std::vector<pid_t>& roots);

} // namespace dockdist::node
