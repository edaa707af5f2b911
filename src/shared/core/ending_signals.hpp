// The signals by which people may have their jobs told to end: programs save and end by one of them.
#pragma once

#include <optional>
#include <string_view>

namespace dockdist {

// "TERM, INT, HUP, QUIT, USR1 or USR2".
inline constexpr std::string_view ending_signals = "TERM, INT, HUP, QUIT, USR1 or USR2";

// "INT", also "SIGINT" and "int".
std::optional<int> ending_signal(std::string_view name);
// "INT"; empty: it is none of them.
std::string_view ending_signal_name(int number);

} // namespace dockdist
