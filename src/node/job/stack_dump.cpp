#include "node/job/stack_dump.hpp"

#include "node/system/helper.hpp"
#include "node/system/os.hpp"
#include "node/system/process.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::int64_t cpu_sample_ms = 500;
constexpr int py_spy_limit_ms = 20000;
constexpr int gdb_limit_ms = 30000;
constexpr std::size_t longest_command = 80;

std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

bool is_python(const std::vector<std::string>& argv) {
    return !argv.empty() && base_name(argv.front()).starts_with("python");
}

bool is_wrapper(const std::vector<std::string>& argv) {
    constexpr std::array<std::string_view, 6> wrappers{"sh", "bash", "dash", "zsh", "ash", "dockdist-init"};
    return argv.empty() || std::ranges::find(wrappers, base_name(argv.front())) != wrappers.end();
}

std::vector<std::string> read_argv(pid_t pid) {
    auto text = read_file_or_empty("/proc/" + std::to_string(pid) + "/cmdline");
    while (text.ends_with('\0')) {
        text.pop_back();
    }
    return text.empty() ? std::vector<std::string>() : split(text, '\0');
}

void tell_dump(const std::string& line) {
    (void)write_all(STDOUT_FILENO, "dockdist: " + line + "\n");
}

// Its own lines, set in, and no more than a screen or two.
void quote(const std::string& output) {
    constexpr std::size_t most_lines = 120;
    std::size_t count = 0;
    for (const auto& line : split(output, '\n')) {
        if (line.empty()) {
            continue;
        }
        if (++count > most_lines) {
            tell_dump("    …");
            return;
        }
        tell_dump("    " + printable(line));
    }
}

std::string shown(const std::vector<std::string>& argv) {
    std::string text;
    for (const auto& word : argv) {
        text += (text.empty() ? "" : " ") + printable(word.substr(0, word.find('\n'))); // of a script's text
    }
    return text.size() <= longest_command ? text : text.substr(0, longest_command - 3) + "...";
}

std::string state_words(const ProcessStat& now, std::int64_t ticks_before, pid_t pid) {
    const auto ticks = (now.cpu_ticks - ticks_before) * 1000 * 100;
    const auto percent = ticks / (::sysconf(_SC_CLK_TCK) * cpu_sample_ms);
    const auto wait = read_file_or_empty("/proc/" + std::to_string(pid) + "/wchan");
    std::string words = now.state == 'D'   ? "waits in the kernel"
                        : now.state == 'T' ? "is stopped (SIGSTOP)"
                        : now.state == 't' ? "is held by a debugger"
                        : now.state == 'R' ? "runs"
                                           : "sleeps";
    if (now.state != 'R' && !wait.empty() && wait != "0") {
        words += " in " + printable(wait);
    }
    return words + ", " + std::to_string(percent) + " % CPU, " + std::to_string(now.threads) +
           (now.threads == 1 ? " thread" : " threads");
}

// Whether the tool told something.
bool use_tool(const std::string& name, const std::vector<std::string>& arguments, const Environment& tools,
              int limit_ms) {
    const auto program = find_program(name, tools);
    if (program.path.empty()) {
        return false;
    }
    auto argv = arguments;
    argv.insert(argv.begin(), name);
    const auto done = run_helper({.program = program, .argv = argv, .environment = tools}, limit_ms);
    const bool denied = done.output.find("not permitted") != std::string::npos ||
                        done.output.find("ermission denied") != std::string::npos;
    if (done.code == 0 && !denied) {
        tell_dump(name + ":");
        const auto threads = done.output.find("\nThread "); // before it, what was said already: the command
        quote(threads == std::string::npos ? done.output : done.output.substr(threads));
        return true;
    }
    tell_dump(name + (done.code == -1 ? " took too long" : " failed: " + printable(last_line(done.output))) +
              (denied ? "; `cap_add: [SYS_PTRACE]` under `container:` lets it read other processes" : ""));
    return false;
}

} // namespace

DumpTarget choose_process(const std::vector<ProcessStat>& all, pid_t root,
                          const std::function<std::vector<std::string>(pid_t)>& argv_of) {
    DumpTarget chosen;
    DumpTarget any{root, argv_of(root)};
    std::vector<pid_t> level{root};
    while (!level.empty()) {
        std::vector<pid_t> below;
        for (const auto pid : level) {
            auto argv = argv_of(pid);
            if (is_python(argv)) {
                return {pid, std::move(argv)};
            }
            if (chosen.pid == 0 && !is_wrapper(argv)) {
                chosen = {pid, std::move(argv)};
            }
            for (const auto& process : all) {
                if (process.parent == pid && !process.has_ended()) {
                    below.push_back(process.pid);
                }
            }
        }
        level = std::move(below);
    }
    return chosen.pid != 0 ? chosen : any;
}

void dump_stacks(pid_t root, std::int64_t silent_ms, const Environment& tools, bool advises) {
    const auto silence = "wrote nothing for " + format_duration(std::chrono::milliseconds(silent_ms));
    const auto chosen = choose_process(all_processes(), root, read_argv);
    const auto before = read_process_stat(chosen.pid);
    pollfd nothing{.fd = -1, .events = 0, .revents = 0};
    ::poll(&nothing, 1, static_cast<int>(cpu_sample_ms));
    const auto now = read_process_stat(chosen.pid);
    if (!before || !now) {
        return tell_dump(silence + "; its process is just ending");
    }
    tell_dump(silence + "; process " + std::to_string(chosen.pid) + " (" + shown(chosen.argv) + ") " +
              state_words(*now, before->cpu_ticks, chosen.pid));
    const auto pid = std::to_string(chosen.pid);
    std::vector<std::string> dump{"dump", "--pid", pid};
    if (now->state == 'T') { // py-spy waits in vain for it to stop
        dump.emplace_back("--nonblocking");
    }
    if (is_python(chosen.argv) && use_tool("py-spy", dump, tools, py_spy_limit_ms)) {
        return;
    }
    if (use_tool("gdb", {"-batch", "-nx", "-p", pid, "-ex", "thread apply all backtrace 30"}, tools,
                 gdb_limit_ms)) {
        return;
    }
    const bool has_one = !find_program("gdb", tools).path.empty() ||
                         (is_python(chosen.argv) && !find_program("py-spy", tools).path.empty());
    if (!has_one && advises) {
        tell_dump(
            is_python(chosen.argv)
                ? "its stacks would be shown here if py-spy (`pip install py-spy`) or gdb were in the image"
                : "its stacks would be shown here if gdb were in the image");
    }
}

} // namespace dockdist::node
