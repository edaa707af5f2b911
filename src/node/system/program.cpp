#include "node/system/program.hpp"

#include "node/system/clean_environment.hpp"
#include "node/system/on_record.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/roots_way.hpp"
#include "shared/core/text.hpp"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace dockdist::node {
namespace {

using Accepts = bool (*)(const std::string& path);

Program look_up(const std::string& name, const std::string& path, Accepts accepts) {
    std::string there;
    for (const auto& folder : split(path, ':')) {
        const auto candidate = (folder.empty() ? "." : folder) + "/" + name;
        const bool executable = is_executable(candidate);
        if (executable && accepts(candidate)) {
            return {.path = candidate, .name = name};
        }
        if (there.empty() && ::access(candidate.c_str(), F_OK) == 0 && !is_folder(candidate)) {
            there = executable ? "found at " + candidate + ", which users other than root can change"
                               : "found, but not executable";
        }
    }
    if (!there.empty()) {
        return {.error = {.code = exit_codes::cannot_start,
                          .message = printable(name) + ": " + printable(there)}};
    }
    return {.error = {.code = exit_codes::not_found,
                      .message = printable(name) + ": not found in PATH (" + printable(path) + ")"}};
}

Program find_accepted(const std::string& name, const std::string& path, Accepts accepts) {
    if (name.find('/') != std::string::npos) {
        if (is_executable(name)) {
            return {.path = name, .name = name, .named_by_path = true};
        }
        if (::access(name.c_str(), F_OK) != 0) {
            return {.error = {.code = exit_codes::not_found,
                              .message = printable(name) + ": no such file in this container"}};
        }
        return {
            .error = {.code = exit_codes::cannot_start,
                      .message = printable(name) + (is_folder(name) ? ": is a folder" : ": not executable")}};
    }
    auto found = look_up(name, path, accepts);
    if (found.path.empty() && name == "python") {
        auto python3 = look_up("python3", path, accepts);
        if (!python3.path.empty()) {
            return python3;
        }
    }
    return found;
}

bool is_toolkits(const std::string& path) {
    return path.starts_with(paths().toolkit + "/") && path.find("/..") == std::string::npos;
}

bool is_for_root(const std::string& path) {
    return is_toolkits(path) || is_roots_program(path);
}

ProgramError exec_failure(const std::string& name, const std::string& path, int number) {
    ProgramError error{.code = exit_codes::cannot_start,
                       .message = printable(name) + ": " + std::strerror(number)};
    if (number == ENOENT) {
        // execve says the same of a missing interpreter as of a missing file.
        const bool there = ::access(path.c_str(), F_OK) == 0;
        error.code = exit_codes::not_found;
        error.message = printable(name) + (there ? ": the interpreter it names is not in this container"
                                                 : ": no such file in this container");
    } else if (number == ENOEXEC) {
        error.message =
            printable(name) + ": not a program of this machine's architecture, and has no #! line";
    } else if (number == E2BIG) {
        error.message = printable(name) + ": its arguments and environment are larger than the kernel allows";
    }
    return error;
}

std::vector<char*> argv_pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (auto& word : words) {
        result.push_back(word.data());
    }
    result.push_back(nullptr);
    return result;
}

int refused(const ProgramError& error) {
    (void)write_all(STDERR_FILENO, "dockdist: " + error.message + "\n");
    return error.code;
}

std::string roots_home() {
    std::string error;
    const auto root = named_account("0", error);
    return error.empty() && !root.home.empty() ? root.home : "/root";
}

} // namespace

Program find_program(const std::string& name, const Environment& environment) {
    return find_accepted(name, environment.get("PATH").value_or(default_path),
                         [](const std::string&) { return true; });
}

Program find_roots_program(const std::string& name, const Environment& environment) {
    return find_accepted(name, with_standard_folders(environment.get("PATH").value_or("")), is_for_root);
}

bool may_run(const std::string& path) {
    return is_executable(path) && (!guards_root() || is_for_root(path));
}

Program find_own_program(const std::string& name, Environment& environment) {
    if (!guards_root()) {
        return find_program(name, environment);
    }
    auto found = find_roots_program(name, environment);
    keep_to_root(environment, roots_home());
    return found;
}

NotStarted become_program(const Program& program, std::vector<std::string> argv, Environment& environment) {
    if (!program.believed && !is_toolkits(program.path) && guards_root()) {
        if (!program.named_by_path && !is_roots_program(program.path)) {
            if (::access(program.path.c_str(), F_OK) != 0) {
                return {.error = exec_failure(argv.front(), program.path, errno), .number = ENOENT};
            }
            return {.error = {.code = exit_codes::cannot_start,
                              .message = printable(program.path) + ": users other than root can change it"},
                    .number = EPERM};
        }
        keep_to_root(environment, roots_home());
    }
    ::execve(program.path.c_str(), argv_pointers(argv).data(), environment.pointers().data());
    const int number = errno;
    return {.error = exec_failure(argv.front(), program.path, number), .number = number};
}

int exec_path(const std::string& path, const std::vector<std::string>& argv, Environment& environment) {
    return refused(become_program({.path = path, .name = path}, argv, environment).error);
}

int exec_program(const std::vector<std::string>& argv, Environment& environment) {
    const auto program = find_own_program(argv.front(), environment);
    if (program.path.empty()) {
        return refused(program.error);
    }
    auto words = argv;
    words.front() = program.name;
    return refused(become_program(program, words, environment).error);
}

} // namespace dockdist::node
