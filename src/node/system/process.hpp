// Programs: where they are, and how one is started or becomes this process.
#pragma once

#include "core/exit_codes.hpp"
#include "core/result.hpp"
#include "node/system/accounts.hpp"
#include "node/system/environment.hpp"
#include "node/system/os.hpp"

#include <csignal>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

// What a shell would find: a path when `name` has a '/', else the first in PATH. `python` means `python3`
// where there is no python. The error's code is 127 (not there) or 126 (not executable).
struct ProgramError {
    int code = exit_codes::not_found;
    std::string message{};
};
struct Program {
    std::string path{};
    std::string name{};   // for argv[0]: Python finds itself, and its modules, by that
    ProgramError error{}; // when path is empty
};
Program find_program(const std::string& name, const Environment& environment);

// Why execve failed, as a sentence and the shell's code.
ProgramError exec_failure(const std::string& name, const std::string& path, int number);

// For execv: the words' own bytes, and a null pointer behind them.
std::vector<char*> argv_pointers(std::vector<std::string>& words);

// Whether PID 1 is the only process that can be seen here, so that it reaps and ends every other one.
bool alone_in_container();

int own_cpus();                          // that this process may run on
void reset_signals();                    // all default, none blocked
void raise_memlock_limit();              // soft to hard: RDMA pins memory, and sshd's sessions start low
std::uint64_t open_files();              // RLIMIT_NOFILE, the soft limit
void set_open_files(std::uint64_t most); // or the hard limit, where that is lower
Status become(const Account& account);   // groups, gid, uid; for good
Status enter_folder(const std::string& path);

// Replaces this process, or prints why not and returns 126 or 127.
int exec_program(const std::vector<std::string>& argv, Environment& environment);
// The same, for a program whose path is known; argv[0] as given.
int exec_path(const std::string& path, const std::vector<std::string>& argv, Environment& environment);

// Runs a helper to its end with a clean environment, at most `limit_ms`; its stdout and stderr together. Not
// for PID 1.
struct Finished {
    int code = -1; // -1: it was ended because it took too long, or did not start
    std::string output{};
};
Finished run_helper(const std::string& path, const std::vector<std::string>& argv, Environment environment,
                    int limit_ms);

// The environment for the toolkit's own dynamic programs: nothing of the image's that its loader or libcrypto
// would read.
Environment clean_environment();
void remove_loader_variables(Environment& environment);

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

} // namespace dockdist::node
