// This process and its children: as whom it runs, its signals and limits, how a child has ended.
#pragma once

#include "core/result.hpp"
#include "node/system/accounts.hpp"
#include "node/system/os.hpp"

#include <csignal>
#include <span>
#include <string>
#include <sys/types.h>

namespace dockdist::node {

// Whether PID 1 is the only process that can be seen here, so that it reaps and ends every other one.
bool alone_in_container();

int own_cpus();                        // that this process may run on
void reset_signals();                  // all default, none blocked
void raise_memlock_limit();            // soft to hard: RDMA pins memory, and sshd's sessions start low
Status become(const Account& account); // groups, gid, uid; for good
Status enter_folder(const std::string& path);

// Status of waitpid as a shell reports it.
struct ExitStatus {
    int code = 0;
    int signal = 0;
};
ExitStatus exit_status(int wait_status);

// A signalfd for `signals`, which are blocked in this process from now on.
Result<Fd> take_signals(std::span<const int> signals);

} // namespace dockdist::node
