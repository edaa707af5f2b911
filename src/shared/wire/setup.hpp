// A line of `setup:` in a node. The client asks for the state of all of them, as a question of a job's
// opening (shared/wire/job.hpp), and has each that is wanted run by a job of its own:
//
//   dockdist-init setup state [LINE…]   prints a word a line of the file: "DIGEST done" or "DIGEST new"
//   dockdist-init setup run LINE        runs it, and remembers it where it ends with 0
//
// LINE is a SetupLine as JSON. DIGEST, hexadecimal digits, is of its text and of the files that it names.
#pragma once

#include "shared/core/result.hpp"

#include <string>
#include <string_view>

namespace dockdist::wire {

struct SetupLine {
    std::string run{};    // for `sh -c`
    std::string user{};   // as whom, where the file says it: setup_user and the name
    std::string target{}; // a folder that nodes may share: then what is remembered stands in it
    std::string digest{}; // to run: as `state` has said it
    // To run: although it is remembered, unless under this word, which is of one run alone.
    std::string again{};
    bool operator==(const SetupLine&) const = default;
};
inline constexpr std::string_view setup_user = "user ";
std::string to_text(const SetupLine& line); // JSON
Result<SetupLine> parse_setup_line(std::string_view text);

// What `state` says of a line.
struct SetupState {
    std::string digest{};
    bool done = false;
    bool operator==(const SetupState&) const = default;
};
std::string to_text(const SetupState& state); // with '\n'
Result<SetupState> parse_setup_state(std::string_view text);

// Of the text, and behind it of the files that it names.
inline constexpr std::size_t setup_text_digest_size = 32;
inline constexpr std::size_t setup_digest_size = 2 * setup_text_digest_size;

} // namespace dockdist::wire
