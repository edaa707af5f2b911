#include "probe/series.hpp"

#include <algorithm>

namespace dockdist::probe {
namespace {

// Beside its iterations a size is filled and checked, twice: about this many iterations' time.
constexpr double around = 4;
constexpr int fewest = 2;

} // namespace

int Series::iterations_for(std::uint64_t bytes) const {
    if (budget_us_ == 0 || last_iterations_ == 0) {
        return iterations_;
    }
    const auto left = static_cast<double>(budget_us_ - spent_us_);
    const auto one = us_per_byte_ * static_cast<double>(bytes) / (last_iterations_ + around);
    const auto fitting = one <= 0 ? static_cast<double>(iterations_) : left / one - around;
    if (fitting < std::min(fewest, iterations_)) {
        return 0;
    }
    return static_cast<int>(std::min(fitting, static_cast<double>(iterations_)));
}

void Series::took(std::uint64_t bytes, std::uint64_t us) {
    last_iterations_ = iterations_for(bytes);
    spent_us_ += static_cast<std::int64_t>(us);
    us_per_byte_ = static_cast<double>(us) / static_cast<double>(std::max<std::uint64_t>(bytes, 1));
}

} // namespace dockdist::probe
