// Whether a process was killed for want of memory.
#pragma once

#include <cstdint>
#include <string_view>

namespace dockdist::node {

// How often the kernel has ended a process of this container for want of memory; -1 when it does not tell.
std::int64_t oom_kills();

// Pure part: the number after `oom_kill ` in memory.events (cgroup v2) or memory.oom_control (v1).
std::int64_t parse_oom_kills(std::string_view text);

} // namespace dockdist::node
