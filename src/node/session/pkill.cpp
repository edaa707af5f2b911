#include "node/session/pkill.hpp"

#include "node/system/os.hpp"
#include "node/system/process_killer.hpp"
#include "shared/core/number.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <optional>
#include <regex.h>
#include <string_view>
#include <unistd.h>

namespace dockdist::node {
namespace {

// "-9", "-KILL", "-SIGKILL".
std::optional<int> signal_of(std::string_view word) {
    if (word.size() < 2 || word.front() != '-') {
        return std::nullopt;
    }
    word.remove_prefix(1);
    if (const auto number = whole_number<int>(word)) {
        return *number > 0 && *number < NSIG ? number : std::nullopt;
    }
    if (word.starts_with("SIG")) {
        word.remove_prefix(3);
    }
    for (int candidate = 1; candidate < NSIG; ++candidate) {
        if (const char* name = ::sigabbrev_np(candidate); name != nullptr && word == name) {
            return candidate;
        }
    }
    return std::nullopt;
}

std::string command_line(pid_t pid) {
    auto text = read_file_or_empty("/proc/" + std::to_string(pid) + "/cmdline");
    while (!text.empty() && text.back() == '\0') {
        text.pop_back();
    }
    std::ranges::replace(text, '\0', ' ');
    return text;
}

struct Arguments {
    int signal = SIGTERM;
    std::string pattern{};
};

std::optional<Arguments> parse(const std::vector<std::string>& words) {
    Arguments arguments;
    bool by_command_line = false;
    for (const auto& word : words) {
        if (word == "-f" || word == "--full") {
            by_command_line = true;
        } else if (const auto signal = signal_of(word)) {
            arguments.signal = *signal;
        } else if (word.starts_with('-') || !arguments.pattern.empty()) {
            return std::nullopt;
        } else {
            arguments.pattern = word;
        }
    }
    return by_command_line && !arguments.pattern.empty() ? std::optional(arguments) : std::nullopt;
}

} // namespace

bool is_pkill_by_pattern(const std::vector<std::string>& arguments) {
    return parse(arguments).has_value();
}

int run_pkill_in_job(const std::string& job, const std::vector<std::string>& words) {
    constexpr int wrong_usage = 2;
    const auto arguments = parse(words);
    regex_t pattern{};
    if (!arguments || ::regcomp(&pattern, arguments->pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) {
        (void)write_all(STDERR_FILENO, "pkill: that is not a regular expression\n");
        return wrong_usage;
    }
    bool some = false;
    for (const auto pid : find_processes({.mark = job})) {
        if (::regexec(&pattern, command_line(pid).c_str(), 0, nullptr, 0) == 0) {
            some = ::kill(pid, arguments->signal) == 0 || some;
        }
    }
    ::regfree(&pattern);
    return some ? 0 : 1;
}

} // namespace dockdist::node
