// The clock by which leases are counted, on both sides of each. It goes on while its machine sleeps
// (CLOCK_BOOTTIME): a laptop or a host that was suspended finds its leases over when it wakes up. Timers
// of poll() and of Asio stand still meanwhile: what looks at a lease then may come late, but finds it over.
#pragma once

#include <chrono>
#include <cstdint>

namespace dockdist {

struct LeaseClock {
    using duration = std::chrono::milliseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<LeaseClock>;
    static constexpr bool is_steady = true;
    static time_point now() noexcept;
};

std::int64_t lease_clock_ms();

} // namespace dockdist
