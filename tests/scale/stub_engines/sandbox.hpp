// What a runtime does for an engine, as cheaply as it goes: processes in PID, mount, UTS and IPC namespaces
// of their own around a file system in memory, in the network namespace of their host. There are no control
// groups, no limits, and root keeps all its capabilities: what is shown here says nothing about those.
#pragma once

#include "shared/core/fd.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dockdist::scale {

struct SandboxMount {
    std::string source{}; // a folder of this machine; empty: a new file system in memory
    std::string target{};
    bool read_only = false;
    std::string options{}; // of one in memory: "mode=0755,size=64m"
};

struct Command {
    std::vector<std::string> words{};
    std::vector<std::string> environment{}; // "NAME=value"
    std::string user{};                     // "", "0:0", "nobody", "1000:1000"
    std::string folder{};
    bool has_input = false;
};

struct Sandbox {
    std::string image{}; // the folder whose content it sees, read-only but for /etc
    std::string hostname{};
    std::vector<SandboxMount> mounts{};
    std::uint64_t shm_size = 64U << 20U;
    int network = -1;  // of its host
    std::string place; // an empty folder of this machine, the same for all
};

// A process that has been forked: what becomes of it stands in `failure`, which ends without a word when the
// command runs.
struct Forked {
    pid_t pid = 0;
    Fd input{}, output{}, errors{}; // our ends
    Fd failure{};
};

// The first process of a container. Throws std::system_error.
Forked start_first(const Sandbox& sandbox, const Command& command);
// One more process in the container whose first process that is.
Forked start_beside(pid_t first, const Command& command);

} // namespace dockdist::scale
