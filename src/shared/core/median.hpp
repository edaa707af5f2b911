// The middle one of measurements. Of an even number there are two in the middle: median() is their mean, as
// the word is understood where people read it; what judges says which of the two it takes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace dockdist {

namespace median_detail {

inline double at(std::vector<double>& values, std::size_t place) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(place);
    std::ranges::nth_element(values, middle);
    return *middle;
}

} // namespace median_detail

// All three: 0 for none.
inline double upper_median(std::vector<double> values) {
    return values.empty() ? 0 : median_detail::at(values, values.size() / 2);
}

inline double lower_median(std::vector<double> values) {
    return values.empty() ? 0 : median_detail::at(values, (values.size() - 1) / 2);
}

inline double median(const std::vector<double>& values) {
    return (lower_median(values) + upper_median(values)) / 2;
}

} // namespace dockdist
