// This process and its children: as whom it runs, its signals and limits, how a child has ended.
#pragma once

#include "node/system/accounts.hpp"
#include "node/system/os.hpp"
#include "shared/core/result.hpp"

#include <csignal>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <sys/types.h>

namespace dockdist::node {

// Whether PID 1 is the only process that can be seen here, so that it reaps and ends every other one.
bool alone_in_container();

int own_cpus();       // that this process may run on
void reset_signals(); // all default, none blocked
// Where Yama lets no process read one that is not below it (ptrace_scope 1), what PID 1 has below itself may
// read this one from now on, and what it becomes, but not what it forks. Elsewhere it changes nothing.
void may_be_read();
void raise_memlock_limit();              // soft to hard: RDMA pins memory, and sshd's sessions start low
std::uint64_t open_files();              // RLIMIT_NOFILE, the soft limit
void set_open_files(std::uint64_t most); // or the hard limit, where that is lower
Status become(const Account& account);   // groups, gid, uid; for good
Status enter_folder(const std::string& path);

// Status of waitpid as a shell reports it.
struct ExitStatus {
    int code = 0;
    int signal = 0;
};
ExitStatus exit_status(int wait_status);

// Ended children of this process, and no more than some hundred of them: whoever makes orphans faster than
// they are reaped must not hold up a loop. True: there may be more.
bool reap_children(const std::function<void(pid_t pid, int wait_status)>& on_exit);

// Children of this process that work for it: what ends all its other descendants spares them. Forgotten when
// they are reaped, so that nobody else comes by their number.
void spare_helper(pid_t child);
void forget_helper(pid_t child);
const std::set<pid_t>& spared_helpers();

// A signalfd for `signals`, which are blocked in this process from now on.
Result<Fd> take_signals(std::span<const int> signals);
inline constexpr int most_signals = 64; // of these that are heard in one go

} // namespace dockdist::node
