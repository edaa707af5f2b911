// How many of a simulation's seeds are run.
#pragma once

#include <cstdlib>
#include <string_view>

// All of them with DOCKDIST_SIMULATE=all, for minutes.
inline bool simulate_all() {
    const char* const how = std::getenv("DOCKDIST_SIMULATE");
    return how != nullptr && std::string_view(how) == "all";
}
