#include "shared/core/lease_clock.hpp"

#include <ctime>

namespace dockdist {

std::int64_t lease_clock_ms() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

LeaseClock::time_point LeaseClock::now() noexcept {
    return time_point(duration(lease_clock_ms()));
}

} // namespace dockdist
