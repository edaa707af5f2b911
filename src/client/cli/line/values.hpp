// What the values of options are: one place for what stands in the help, what completion offers, and what is
// refused before anything is done. A message may have a second line: its hint.
#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

inline constexpr std::int64_t most_of_anything = 1'000'000; // where nothing else limits a count
inline constexpr std::int64_t most_gpus_of_a_node = 1024;

// Each gives the option back.
CLI::Option* number(CLI::Option* option, std::int64_t from, std::int64_t to = most_of_anything);
CLI::Option* choice(CLI::Option* option, const std::vector<std::string>& words);
// From `least` to `most`; parse_duration() reads what this lets pass.
CLI::Option* duration(CLI::Option* option, std::chrono::milliseconds least = std::chrono::milliseconds(1),
                      std::chrono::milliseconds most = std::chrono::milliseconds::max());
CLI::Option* duration_or_off(CLI::Option* option); // above zero, or "off"
CLI::Option* size(CLI::Option* option, std::uint64_t least);
CLI::Option* moment(CLI::Option* option);      // moment_ms() reads what this lets pass
CLI::Option* variable(CLI::Option* option);    // NAME=VALUE, or NAME
CLI::Option* stop_signal(CLI::Option* option); // ending_signal() reads what this lets pass

// A duration back from `now_ms`, a day (2026-02-28: its beginning in this machine's time zone) or a point in
// time; since 1970. Nothing: it is none of these, or before.
std::optional<std::int64_t> moment_ms(std::string_view word, std::int64_t now_ms);

// Where a command stands in `dockdist help`, in the order of these, and lines to copy.
namespace command_group {
inline constexpr const char* cluster = "The cluster";
inline constexpr const char* looking = "Monitoring";
inline constexpr const char* jobs = "Jobs";
inline constexpr const char* nodes = "In the nodes";
inline constexpr const char* files = "Images, code and data";
inline constexpr const char* itself = "dockdist itself";
} // namespace command_group
CLI::App* describe(CLI::App* command, const char* group, const std::vector<std::string>& examples);

} // namespace dockdist
