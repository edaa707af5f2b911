#include "node/job/failure_cause.hpp"

#include "node/system/port_holder.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <string_view>
#include <sys/stat.h>

namespace dockdist::node {
namespace {

constexpr int python_without_script = 2; // what Python exits with then
constexpr int most_port = 65535;

std::string in_folder(const std::string& workdir, const std::string& path) {
    if (path.starts_with('/')) {
        return path;
    }
    const auto own = path.starts_with("./") ? path.substr(2) : path;
    return (workdir == "/" ? "" : workdir) + "/" + own;
}

bool is_missing(const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool is_script(const std::string& word) {
    return !word.starts_with('-') && (word.ends_with(".py") || word.ends_with(".sh")) &&
           word.find_first_of("= ") == std::string::npos;
}

// The word that is an interpreter's script: the first one behind flags that take no value.
const std::string* script_of(const std::vector<std::string>& command) {
    for (std::size_t i = 1; i < command.size(); ++i) {
        const auto& word = command[i];
        if (!word.starts_with('-')) {
            return &word;
        }
        // -m, -c, -W, -X of Python, -c, -o of shells, --anything
        if (word.size() < 2 || word.find_first_of("-mcWXo", 1) != std::string::npos) {
            return nullptr;
        }
    }
    return nullptr;
}

// The number that stands behind `at`, after what may stand between a word and a number.
int number_behind(std::string_view text, std::size_t at) {
    while (at < text.size() && std::string_view(" :='\",)").find(text[at]) != std::string_view::npos) {
        ++at;
    }
    int number = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number);
    const bool ends = end == text.data() + text.size() || std::isalnum(static_cast<unsigned char>(*end)) == 0;
    return error == std::errc{} && ends && number > 0 && number <= most_port ? number : 0;
}

// "0.0.0.0", "[::]", "*", "::"; and no time of day.
bool ends_with_address(std::string_view text) {
    const auto before = text.find_last_not_of("0123456789.");
    const auto numbers = text.substr(before == std::string_view::npos ? 0 : before + 1);
    return text.ends_with(']') || text.ends_with('*') || text.ends_with("::") ||
           std::ranges::count(numbers, '.') == 3;
}

// "port: 29500", "('0.0.0.0', 8000)", "0.0.0.0:8000", "[::]:8000".
int port_in(std::string_view line) {
    for (const std::string_view word : {"port", "',"}) {
        for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
            if (const int port = number_behind(line, at + word.size())) {
                return port;
            }
        }
    }
    for (auto colon = line.find(':'); colon != std::string_view::npos; colon = line.find(':', colon + 1)) {
        const bool digit =
            colon + 1 < line.size() && std::isdigit(static_cast<unsigned char>(line[colon + 1])) != 0;
        if (digit && ends_with_address(line.substr(0, colon))) {
            return number_behind(line, colon + 1);
        }
    }
    return 0;
}

} // namespace

TakenPort holder_of(int port) {
    TakenPort taken{.port = port};
    if (const auto holder = port == 0 ? std::nullopt : find_port_holder(port)) {
        taken.by = holder->pid == 0 ? std::string("a process outside this container")
                                    : "process " + std::to_string(holder->pid) + " (" + holder->program + ")";
        taken.job = holder->job;
        taken.rank = holder->rank;
    }
    return taken;
}

std::optional<int> complained_port(const std::string& tail) {
    std::optional<int> found;
    for (const auto& original : split(tail, '\n')) {
        std::string line = original;
        std::ranges::transform(line, line.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        if (line.find("address already in use") == std::string::npos &&
            line.find("eaddrinuse") == std::string::npos) {
            continue;
        }
        if (const int port = port_in(line)) {
            return port;
        }
        found = 0;
    }
    return found;
}

std::optional<HopelessCommand> find_hopeless(const std::vector<std::string>& command,
                                             const std::string& workdir, const Environment& environment) {
    if (command.empty()) {
        return std::nullopt;
    }
    const auto program = command.front().substr(command.front().rfind('/') + 1);
    const bool python = program.starts_with("python");
    const bool shell = program == "bash" || program == "sh" || program == "dash" || program == "zsh";
    const auto* script = python || shell ? script_of(command) : nullptr;
    if (script == nullptr || script->empty() || !is_missing(in_folder(workdir, *script))) {
        return std::nullopt;
    }
    // A shell looks for a bare name in PATH, too.
    if (shell && script->find('/') == std::string::npos && !find_program(*script, environment).path.empty()) {
        return std::nullopt;
    }
    return HopelessCommand{.code = python ? python_without_script : exit_codes::not_found,
                           .cause = missing_script(in_folder(workdir, *script))};
}

void explain(wire::JobFailure& failure, const PreparedJob& job) {
    if (!failure.cause.empty()) {
        return;
    }
    const auto& words = job.summary.argv;
    const auto script = std::ranges::find_if(words, is_script);
    Cause found;
    if (const auto port = complained_port(failure.tail)) {
        found = taken_port(holder_of(*port), job.summary.job);
    } else if (failure.signal == 0 && script != words.end() &&
               is_missing(in_folder(job.part.workdir, *script))) {
        found = missing_script(in_folder(job.part.workdir, *script));
    }
    failure.cause = std::move(found.cause);
    failure.advice = std::move(found.advice);
}

} // namespace dockdist::node
