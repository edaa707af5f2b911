// Bytes that may go to a terminal. An OutputSink takes nothing else, so that whoever prints has said what the
// bytes are, and nothing that comes from a host, an engine or a node reaches a terminal with its escapes:
// C0 and C1 controls, DEL, bidirectional controls and bytes that are not UTF-8 become visible on the way.
// What stands in one line is made safe where the line is made (safe_cell(), printable()): here a newline is a
// newline.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

// Looks at the bytes that it was made of, which outlive it unless it is kept().
class Displayable {
public:
    // Lines of text: newlines and tabs pass.
    static Displayable text(std::string_view lines [[clang::lifetimebound]]);

    // Lines that dockdist coloured and drew: what text() lets pass, carriage returns, and the sequences of
    // drawn_sequence().
    static Displayable drawn(std::string_view lines [[clang::lifetimebound]]);

    // JSON, as it was dumped: the same value, in which \uHHHH stands for each character that a terminal would
    // obey.
    static Displayable json(std::string_view dumped [[clang::lifetimebound]]);

    // As they came. For the programs of the user alone, and where the user wants their bytes: the ranks with
    // `--raw`, `exec` and `ssh` (tests/quality/check_source.py names the files).
    static Displayable raw(std::string_view bytes [[clang::lifetimebound]]) { return Displayable(bytes); }

    std::string_view bytes() const { return made_ ? std::string_view(*made_) : given_; }

    // The same, for longer than what it was made of.
    Displayable kept() const { return Displayable(std::string(bytes())); }

private:
    explicit Displayable(std::string_view given) : given_(given) {}
    explicit Displayable(std::string made) : made_(std::move(made)) {}

    std::string_view given_{};
    std::optional<std::string> made_{}; // where something was changed
};

} // namespace dockdist
