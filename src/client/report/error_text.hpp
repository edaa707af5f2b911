// How an error or a warning looks to a person:
//   error: node-1 (tcp://10.0.0.2:2375): connection refused
//     → start the engine, or correct `docker:` of this host
#pragma once

#include "client/report/output.hpp"
#include "shared/core/error.hpp"

#include <chrono>
#include <string>

namespace dockdist {

// Lines, each with its newline, laid out for where they go. Text that has several lines stays readable,
// indented, and cannot forge a first line.
std::string error_text(const Error& error, const OutputTraits& traits);
std::string warning_text(std::string_view subject, std::string_view text, const OutputTraits& traits);

// "node-0: text" with its newline; without the subject where that is empty.
std::string note_text(std::string_view subject, std::string_view text, const OutputTraits& traits);

// Lines for people as this output takes them: on a terminal they go on below, indented, where they are too
// wide, and are ASCII where it knows nothing else.
std::string laid_out(std::string lines, const OutputTraits& traits);

// "waited 12 min 3 s".
std::string waited_text(std::chrono::milliseconds time);

namespace style {
inline constexpr std::string_view red = "\x1b[31m";
inline constexpr std::string_view bold_red = "\x1b[1;31m";
inline constexpr std::string_view green = "\x1b[32m";
inline constexpr std::string_view yellow = "\x1b[33m";
inline constexpr std::string_view cyan = "\x1b[36m";
inline constexpr std::string_view bold = "\x1b[1m";
inline constexpr std::string_view dim = "\x1b[2m";
} // namespace style

// `text` in a style, or bare where there is no colour.
std::string styled(std::string_view text, std::string_view style, bool colour);

} // namespace dockdist
