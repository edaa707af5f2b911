// How patient a test is. No other test knows seconds (tests/quality/check_patience.py); harness/patience.py
// is the same for Python.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace dockdist {

// From now on, the end of what takes at most `idle` on an idle machine; later, the more others want this one,
// but before the end that ctest sets.
inline std::chrono::steady_clock::time_point
patience_ends(std::chrono::seconds idle = std::chrono::seconds(20)) {
    double load = 0;
    ::getloadavg(&load, 1);
    const std::chrono::duration<double> wait =
        idle * std::clamp(load / std::max(1U, std::thread::hardware_concurrency()), 1.0, 3.0);
    const auto most = std::min(wait, std::chrono::duration<double>(100));
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(most);
}

} // namespace dockdist
