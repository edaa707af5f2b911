#include "node/job/rank_look.hpp"

#include "node/job/tree_look.hpp"
#include "node/system/helper.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/utf8.hpp"
#include "shared/diagnosis/place.hpp"

#include <climits>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr int py_spy_limit_ms = 10000;
constexpr int gdb_limit_ms = 30000;
constexpr std::size_t longest_command = 80;

std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
}

bool is_wrapper(const std::vector<std::string>& argv) {
    constexpr std::array<std::string_view, 6> wrappers{"sh", "bash", "dash", "zsh", "ash", "dockdist-init"};
    return argv.empty() || std::ranges::find(wrappers, base_name(argv.front())) != wrappers.end();
}

LookTarget read_target(pid_t pid) {
    const auto folder = "/proc/" + std::to_string(pid);
    LookTarget target{.pid = pid};
    auto text = read_file_or_empty(folder + "/cmdline");
    while (text.ends_with('\0')) {
        text.pop_back();
    }
    if (!text.empty()) {
        target.argv = split(text, '\0');
    }
    std::array<char, PATH_MAX> program{};
    const auto size = ::readlink((folder + "/exe").c_str(), program.data(), program.size());
    target.program.assign(program.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return target;
}

std::string shown(const std::vector<std::string>& argv) {
    std::string text;
    for (const auto& word : argv) {
        text += (text.empty() ? "" : " ") + printable(word.substr(0, word.find('\n'))); // of a script's text
    }
    return text.size() <= longest_command ? text
                                          : text.substr(0, utf8_prefix(text, longest_command - 3)) + "...";
}

void tell_state(wire::RankStack& stack, const TreeLook& before, const TreeLook& now) {
    const auto percent = [&](std::int64_t ticks) {
        return static_cast<int>(
            std::max<std::int64_t>(ticks, 0) * 1000 * 100 /
            (::sysconf(_SC_CLK_TCK) * std::max<std::int64_t>(now.at_ms - before.at_ms, 1)));
    };
    stack.rests_ms = now.runs >= 0 && now.runs == before.runs ? now.at_ms - before.at_ms : 0;
    const auto& own = now.processes.front();
    const auto& former = before.processes.front();
    stack.cpu_percent = percent(own.cpu_ticks - former.cpu_ticks);
    stack.tree_cpu_percent = percent(ticks_of(now.processes) - ticks_of(before.processes));
    stack.io_bytes = now.io_bytes < 0 || before.io_bytes < 0
                         ? -1
                         : std::max<std::int64_t>(now.io_bytes - before.io_bytes, 0);
    // Who waits for a disk for a moment does not stand: both looks have to see it.
    stack.state = state_of(own.state == 'D' && former.state != 'D' ? 'S' : own.state);
    stack.thread_count = own.threads;
    stack.waits_in = wait_of(own);
    stack.reads = read_file_of(own.pid);
}

// What may keep one process of a user from reading another one of the same user.
std::string advice_to_read() {
    const auto scope = whole_number<int>(last_line(read_file_or_empty("/proc/sys/kernel/yama/ptrace_scope")));
    if (scope.value_or(0) == 1) {
        return "it was forked by a rank, and this host's kernel.yama.ptrace_scope is 1: `sysctl "
               "kernel.yama.ptrace_scope=0` there, or `cap_add: [SYS_PTRACE]` under `container:`";
    }
    return "`cap_add: [SYS_PTRACE]` under `container:` lets it read other processes";
}

bool is_denied(const std::string& output) {
    constexpr std::array<std::string_view, 3> words{"not permitted", "ermission denied", "ermission Denied"};
    return std::ranges::any_of(words,
                               [&](std::string_view word) { return output.find(word) != std::string::npos; });
}

void cannot_read(wire::RankStack& stack, const std::string& tool, const Finished& done) {
    stack.problem =
        wire::stack_word(tool + (done.code == -1 ? " took too long" : " failed: " + last_line(done.output)));
    if (is_denied(done.output)) {
        stack.advice = advice_to_read();
    }
}

// The toolkit's; that of the image where a node has an older toolkit.
std::optional<Helper> py_spy(pid_t pid, const Environment& tools) {
    std::vector<std::string> argv{"py-spy", "dump", "--nonblocking", "--json", "--pid", std::to_string(pid)};
    if (::access(paths().py_spy.c_str(), X_OK) == 0) {
        return toolkit_helper(paths().py_spy, std::move(argv));
    }
    auto program = find_program("py-spy", tools);
    if (program.path.empty()) {
        return std::nullopt;
    }
    return Helper{.program = std::move(program), .argv = std::move(argv), .environment = tools};
}

// It reads a process that goes on, and may find a thread between two of its frames: then it says so, and a
// second time finds it elsewhere.
Finished read_python(const Helper& helper) {
    Finished done;
    for (int tries = 0; tries < 3; ++tries) {
        done = run_helper(helper, py_spy_limit_ms);
        if (done.code == 0 || done.code == -1 || is_denied(done.output)) {
            break;
        }
    }
    return done;
}

// Before the pause, and what it has found then.
struct PythonLook {
    std::optional<Helper> helper{};
    std::vector<wire::ThreadStack> before{};
};

bool look_into_python(wire::RankStack& stack, const PythonLook& look) {
    const auto done = read_python(*look.helper);
    stack.threads = done.code == 0 ? parse_py_spy(done.output) : std::vector<wire::ThreadStack>();
    if (stack.threads.empty()) {
        cannot_read(stack, "py-spy", done);
        return false;
    }
    stack.tool = "py-spy";
    for (auto& thread : stack.threads) {
        if (thread.id == stack.pid && thread.name.empty()) {
            thread.name = "MainThread"; // which it has no name for before `threading` is imported
        }
    }
    const auto* const before = wire::main_thread(look.before, stack.pid);
    const auto* const now = wire::main_thread(stack.threads, stack.pid);
    stack.moves = before != nullptr && now != nullptr && before->frames != now->frames;
    return true;
}

// Who waits for data waits for the processes below it, of which the first ones are told.
void look_at_children(wire::RankStack& stack, const TreeLook& tree, const Environment& tools) {
    const auto* const main = wire::main_thread(stack.threads, stack.pid);
    if (main == nullptr || place_of(*main).business != Business::data) {
        return;
    }
    for (std::size_t i = 1; i < tree.processes.size() && stack.children.size() < wire::most_children; ++i) {
        const auto& process = tree.processes[i];
        if (process.has_ended()) {
            continue;
        }
        auto& child = stack.children.emplace_back();
        child.pid = process.pid;
        child.state = std::string(wire::to_string(state_of(process.state)));
        child.waits_in = wait_of(process);
        const auto helper = py_spy(process.pid, tools);
        auto threads = helper ? parse_py_spy(read_python(*helper).output) : std::vector<wire::ThreadStack>();
        if (const auto* const thread = wire::main_thread(threads, process.pid)) {
            child.frames = thread->frames;
        }
    }
}

bool look_by_gdb(wire::RankStack& stack, const Environment& tools) {
    auto program = find_program("gdb", tools);
    if (program.path.empty()) {
        return false;
    }
    const auto done = run_helper({.program = std::move(program),
                                  .argv = {"gdb", "-batch", "-nx", "-p", std::to_string(stack.pid), "-ex",
                                           "thread apply all backtrace 30"},
                                  .environment = tools},
                                 gdb_limit_ms);
    if (done.code != 0 || is_denied(done.output)) {
        cannot_read(stack, "gdb", done);
        return false;
    }
    stack.tool = "gdb";
    stack.problem.clear();
    stack.advice.clear();
    const auto threads = done.output.find("\nThread "); // before it, what was said already: the command
    for (const auto& line :
         split(threads == std::string::npos ? done.output : done.output.substr(threads), '\n')) {
        if (!line.empty() && stack.lines.size() < wire::most_stack_lines) {
            stack.lines.push_back(wire::stack_word(line));
        }
    }
    return true;
}

// Of what py-spy says, which reads it out of a process that may say anything.
std::string text_in(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? wire::stack_word(found->get<std::string>())
                                                       : std::string();
}

template <class Number>
Number number_at(const nlohmann::json& object, const char* key, Number most) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_unsigned() &&
                   found->get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
               ? static_cast<Number>(found->get<std::uint64_t>())
               : Number{0};
}

bool flag_at(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_boolean() && found->get<bool>();
}

} // namespace

bool LookTarget::is_python() const {
    return base_name(program).starts_with("python") ||
           (!argv.empty() && base_name(argv.front()).starts_with("python"));
}

LookTarget choose_process(const std::vector<ProcessStat>& all, pid_t root,
                          const std::function<LookTarget(pid_t)>& target_of) {
    LookTarget chosen;
    std::vector<pid_t> level{root};
    while (!level.empty()) {
        std::vector<pid_t> below;
        for (const auto pid : level) {
            auto target = target_of(pid);
            if (target.is_python()) {
                return target;
            }
            if (chosen.pid == 0 && !is_wrapper(target.argv)) {
                chosen = std::move(target);
            }
            for (const auto& process : all) {
                if (process.parent == pid && !process.has_ended()) {
                    below.push_back(process.pid);
                }
            }
        }
        level = std::move(below);
    }
    return chosen.pid != 0 ? chosen : target_of(root);
}

std::vector<wire::ThreadStack> parse_py_spy(std::string_view output) {
    const auto begin = output.starts_with('[') ? 0 : output.find("\n[");
    if (begin == std::string_view::npos) {
        return {};
    }
    const auto json =
        nlohmann::json::parse(output.substr(begin, output.rfind(']') + 1 - begin), nullptr, false);
    std::vector<wire::ThreadStack> threads;
    for (const auto& each : json.is_array() ? json : nlohmann::json::array()) {
        const auto frames = each.is_object() ? each.find("frames") : each.end();
        if (!each.is_object() || frames == each.end() || !frames->is_array() ||
            threads.size() == wire::most_stack_threads) {
            continue;
        }
        auto& thread = threads.emplace_back();
        thread.name = text_in(each, "thread_name");
        thread.id = number_at<std::int64_t>(each, "os_thread_id", std::numeric_limits<std::int64_t>::max());
        thread.active = flag_at(each, "active");
        thread.holds_gil = flag_at(each, "owns_gil");
        for (const auto& frame : *frames) {
            if (frame.is_object() && thread.frames.size() < wire::most_stack_frames) {
                thread.frames.push_back({text_in(frame, "name"), text_in(frame, "filename"),
                                         number_at<int>(frame, "line", std::numeric_limits<int>::max())});
            }
        }
    }
    return threads;
}

pid_t rank_process(pid_t root) {
    return rank_process(all_processes(), root);
}

pid_t rank_process(const std::vector<ProcessStat>& all, pid_t root) {
    return choose_process(all, root, read_target).pid;
}

wire::RankStack look_at_rank(pid_t root, const Environment& tools, std::int64_t pause_ms) {
    const auto chosen = choose_process(all_processes(), root, read_target);
    wire::RankStack stack{.pid = chosen.pid, .command = shown(chosen.argv)};
    const auto before = look_at_tree(chosen.pid);
    PythonLook python;
    if (!before.processes.empty() && chosen.is_python()) {
        python.helper = py_spy(chosen.pid, tools);
        if (python.helper) {
            python.before = parse_py_spy(read_python(*python.helper).output);
        }
    }
    pollfd nothing{.fd = -1, .events = 0, .revents = 0};
    ::poll(&nothing, 1, static_cast<int>(pause_ms));
    const auto now = look_at_tree(chosen.pid); // before a tool that may stop it
    if (before.processes.empty() || now.processes.empty() || now.processes.front().has_ended()) {
        stack.state = wire::RankStack::State::ending;
        return stack;
    }
    tell_state(stack, before, now);
    if ((python.helper && look_into_python(stack, python)) || look_by_gdb(stack, tools)) {
        look_at_children(stack, now, tools);
        return stack;
    }
    if (stack.problem.empty()) {
        stack.advice = "its stacks would be shown here if gdb were in the image";
    }
    return stack;
}

} // namespace dockdist::node
