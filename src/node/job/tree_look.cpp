#include "node/job/tree_look.hpp"

#include "node/system/os.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/utf8.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <charconv>
#include <unistd.h>

namespace dockdist::node {
namespace {

std::int64_t bytes_of(pid_t pid) {
    std::int64_t bytes = 0;
    const auto lines = split(read_file_or_empty("/proc/" + std::to_string(pid) + "/io"), '\n');
    for (const auto& line : lines) {
        for (const std::string_view key : {"rchar: ", "wchar: "}) {
            if (line.starts_with(key)) {
                bytes += whole_number<std::int64_t>(line.substr(key.size())).value_or(0);
            }
        }
    }
    return lines.size() < 2 ? -1 : bytes;
}

} // namespace

wire::RankStack::State state_of(char letter) {
    using State = wire::RankStack::State;
    switch (letter) {
    case 'R':
        return State::running;
    case 'D':
        return State::in_kernel;
    case 'T':
        return State::stopped;
    case 't':
        return State::traced;
    default:
        return State::sleeping;
    }
}

std::string wait_of(const ProcessStat& process) {
    const auto wait = read_file_or_empty("/proc/" + std::to_string(process.pid) + "/wchan");
    return process.state == 'R' || wait == "0" ? std::string() : wire::stack_word(wait);
}

std::string read_file_of(pid_t pid) {
    const auto folder = "/proc/" + std::to_string(pid);
    const auto descriptor = read_descriptor(read_file_or_empty(folder + "/syscall"));
    std::array<char, PATH_MAX> path{};
    const auto size = descriptor ? ::readlink((folder + "/fd/" + std::to_string(*descriptor)).c_str(),
                                              path.data(), path.size())
                                 : 0;
    return wire::stack_word({path.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
}

TreeLook look_at_tree(pid_t root) {
    TreeLook look{
        .processes = tree_of(all_processes(), {root}), .runs = runs_of(root), .at_ms = monotonic_ms()};
    for (const auto& process : look.processes) {
        const auto bytes = bytes_of(process.pid);
        if (bytes >= 0) {
            look.io_bytes = std::max<std::int64_t>(look.io_bytes, 0) + bytes;
        }
    }
    return look;
}

std::int64_t runs_of(pid_t pid) {
    return runs_in(read_file_or_empty("/proc/" + std::to_string(pid) + "/status"));
}

std::int64_t runs_in(std::string_view status) {
    std::int64_t runs = -1;
    for (const auto& line : split(status, '\n')) {
        const auto colon = line.find(":\t");
        if (colon != std::string::npos && line.substr(0, colon).ends_with("voluntary_ctxt_switches")) {
            const auto switches = whole_number<std::int64_t>(line.substr(colon + 2));
            runs = std::max<std::int64_t>(runs, 0) + switches.value_or(0);
        }
    }
    return runs;
}

std::int64_t ticks_of(const std::vector<ProcessStat>& processes) {
    std::int64_t ticks = 0;
    for (const auto& process : processes) {
        ticks += process.cpu_ticks + process.waited_ticks;
    }
    return ticks;
}

std::optional<int> read_descriptor(std::string_view syscall) {
    // "0 0x3 0x7f… …": its number and its arguments; read, pread64, readv, recvfrom, recvmsg.
#if defined(__x86_64__)
    constexpr std::array<std::string_view, 5> readers{"0", "17", "19", "45", "47"};
#else
    constexpr std::array<std::string_view, 5> readers{"63", "67", "65", "207", "212"};
#endif
    const auto words = split(syscall, ' ');
    if (words.size() < 2 || std::ranges::find(readers, words[0]) == readers.end() ||
        !words[1].starts_with("0x")) {
        return std::nullopt;
    }
    int number = 0;
    const auto* const begin = words[1].data() + 2;
    const auto [end, error] = std::from_chars(begin, words[1].data() + words[1].size(), number, 16);
    return error == std::errc{} && number >= 0 ? std::optional(number) : std::nullopt;
}

} // namespace dockdist::node
