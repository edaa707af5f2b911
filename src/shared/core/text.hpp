// Text that crosses a border: quoting for a shell, checks of names, suggestions for a misspelt word.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// One POSIX shell word that stands for `text` byte for byte; left bare where no quoting is needed.
std::string shell_quote(std::string_view text);
std::string shell_join(std::span<const std::string> words);

// Whether `text` is a name that engines, hostnames, hostfiles and ssh_config all accept:
// [a-z0-9] first and last, [a-z0-9.-] between, no "..", 63 bytes at most.
bool is_plain_name(std::string_view text);

// The one of `candidates` that was most likely meant by `word`; empty when none is near.
std::string nearest(std::string_view word, std::span<const std::string_view> candidates);

// Control characters (C0, DEL, C1) and bytes that are not UTF-8 made visible as \xHH, line separators and
// bidirectional marks and controls as \uHHHH, so that text from elsewhere cannot move the cursor or forge a
// line. Tabs stay.
std::string printable(std::string_view text);

// Whether printable() would leave `text` as it is.
bool is_printable(std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);
// What stands between blanks, without empty ones; parts of `text`.
std::vector<std::string_view> split_blanks(std::string_view text, std::string_view blanks = " \t\r");

// The last line that says something, without the blanks at its ends.
std::string last_line(std::string_view text);

} // namespace dockdist
