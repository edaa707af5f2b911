#include "shared/core/ending_signals.hpp"

#include "shared/core/ascii.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <utility>

namespace dockdist {
namespace {

constexpr std::array<std::pair<std::string_view, int>, 6> signal_numbers{{{"TERM", SIGTERM},
                                                                          {"INT", SIGINT},
                                                                          {"HUP", SIGHUP},
                                                                          {"QUIT", SIGQUIT},
                                                                          {"USR1", SIGUSR1},
                                                                          {"USR2", SIGUSR2}}};

} // namespace

std::optional<int> ending_signal(std::string_view name) {
    auto bare = to_lower(name);
    if (bare.starts_with("sig")) {
        bare.erase(0, 3);
    }
    const auto* found = std::ranges::find_if(
        signal_numbers, [&](const auto& entry) { return to_lower(entry.first) == bare; });
    return found == signal_numbers.end() ? std::nullopt : std::optional(found->second);
}

std::string_view ending_signal_name(int number) {
    const auto* found = std::ranges::find(signal_numbers, number, &std::pair<std::string_view, int>::second);
    return found == signal_numbers.end() ? std::string_view() : found->first;
}

} // namespace dockdist
