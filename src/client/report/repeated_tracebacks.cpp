#include "client/report/repeated_tracebacks.hpp"

#include "shared/core/output_lines.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t most_held_lines = 400;
constexpr std::size_t most_known = 64; // different ones of a job
constexpr auto longest_wait = std::chrono::seconds(1);
constexpr std::string_view traceback_header = "Traceback (most recent call last)";

bool is_digit(char c) {
    return (c >= '0' && c <= '9');
}

bool is_hexadecimal(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// "rank 3", "local_rank=3", "pid: 12", "cuda:1": the word that stands before a number.
bool names_one(std::string_view before) {
    constexpr std::array<std::string_view, 9> words{"rank", "pid",  "cuda",    "gpu",   "device",
                                                    "node", "port", "process", "thread"};
    while (!before.empty() && std::string_view(" :=#([-_").find(before.back()) != std::string_view::npos) {
        before.remove_suffix(1);
    }
    return std::ranges::any_of(words, [&](std::string_view word) {
        return before.size() >= word.size() &&
               std::ranges::equal(before.substr(before.size() - word.size()), word,
                                  [](char a, char b) { return (a | ' ') == b; });
    });
}

// Without what differs from rank to rank: numbers of ranks and processes, addresses, times.
std::string alike(std::string_view line) {
    std::string text;
    for (std::size_t i = 0; i < line.size();) {
        const bool address = line.substr(i).starts_with("0x");
        if (!address && !is_digit(line[i])) {
            text += line[i++];
            continue;
        }
        const auto begin = i;
        for (i += address ? 2 : 0;
             i < line.size() && (is_digit(line[i]) || (address && is_hexadecimal(line[i]))); ++i) {
        }
        const auto joins = [&](std::size_t sign, std::size_t digit) {
            return digit < line.size() && (line[sign] == '.' || line[sign] == ':') && is_digit(line[digit]);
        };
        const bool own = address || joins(i, i + 1) || (begin > 1 && joins(begin - 1, begin - 2)) ||
                         names_one(line.substr(0, begin));
        text += own ? "#" : line.substr(begin, i - begin);
    }
    return text;
}

// Whether the line is the traceback's last: the exception.
bool ends(const RepeatedTracebacks::Held& held, std::string_view bare) {
    const auto indent = bare.find_first_not_of(' ');
    if (indent == std::string_view::npos) {
        return false;
    }
    const auto text = bare.substr(indent);
    return held.boxed ? !starts_with_box(text) : indent <= held.indent && !text.starts_with("File \"");
}

} // namespace

bool RepeatedTracebacks::concerns(const Held& held, std::string_view line) {
    return !held.lines.empty() || line.find(traceback_header) != std::string_view::npos;
}

void RepeatedTracebacks::take(Held& held, const std::string& label, std::string_view line, Now now,
                              const Put& put) {
    const auto bare = without_tag(line);
    if (held.lines.empty()) {
        held.indent = std::min(bare.find_first_not_of(' '), bare.size());
        held.boxed = starts_with_box(bare.substr(held.indent));
        held.since = now;
        held.lines.emplace_back(line);
        return;
    }
    held.lines.emplace_back(line);
    if (!ends(held, bare)) {
        if (held.lines.size() > most_held_lines) {
            release(held, put);
        }
        return;
    }
    std::string all;
    for (const auto& one : held.lines) {
        all += alike(without_tag(one)) + "\n";
    }
    const auto known = first_.find(all);
    if (known != first_.end() && known->second != label) {
        put("… the same " + std::to_string(held.lines.size()) + " lines as " + known->second + ": " +
            std::string(bare));
        held.lines.clear();
        return;
    }
    if (known == first_.end() && first_.size() < most_known) {
        first_.emplace(std::move(all), label);
    }
    release(held, put);
}

void RepeatedTracebacks::release(Held& held, const Put& put) {
    for (const auto& line : std::exchange(held.lines, {})) {
        put(line);
    }
}

bool RepeatedTracebacks::waits_long(const Held& held, Now now) {
    return !held.lines.empty() && now - held.since >= longest_wait;
}

} // namespace dockdist
