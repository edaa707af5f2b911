// Programs: where they are, and how this process becomes one. Nothing else in src/node calls exec: what
// guards root stands here (docs/root-in-a-node.md, tests/quality/check_source.py).
#pragma once

#include "node/system/environment.hpp"
#include "shared/core/exit_codes.hpp"

#include <string>
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
    std::string name{};         // for argv[0]: Python finds itself, and its modules, by that
    ProgramError error{};       // when path is empty
    bool named_by_path = false; // by whoever wants it, so nobody has looked for it
    bool believed = false;      // root has looked for it, and has made its environment
};
Program find_program(const std::string& name, const Environment& environment);
// The same among the programs that root alone can have put there (is_roots_program), in the standard folders,
// too.
Program find_roots_program(const std::string& name, const Environment& environment);
// What exec_program() would become: by find_roots_program where guards_root(), in `environment` as it is kept
// to root then.
Program find_own_program(const std::string& name, Environment& environment);
// Whether this process may become it: executable, and root's alone where guards_root().
bool may_run(const std::string& path);

// This process becomes the program, with `argv` as given. Returns only when it cannot: why, as a sentence and
// the shell's code, and errno. Where guards_root(), the toolkit's programs and those believed get
// `environment` as it is; another one has to be root's alone, unless the user has named it by its path, and
// gets what is kept to root of it.
struct NotStarted {
    ProgramError error{};
    int number = 0;
};
NotStarted become_program(const Program& program, std::vector<std::string> argv, Environment& environment);

// The same for what a user names: it is looked for in the environment that it will have. Prints why not, and
// returns 126 or 127.
int exec_program(const std::vector<std::string>& argv, Environment& environment);
// And for a program whose path we know.
int exec_path(const std::string& path, const std::vector<std::string>& argv, Environment& environment);

} // namespace dockdist::node
