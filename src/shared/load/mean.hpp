// The mean of what is known. Pure.
#pragma once

#include <optional>

namespace dockdist {

class Mean {
public:
    void add(const std::optional<double>& value) {
        sum_ += value.value_or(0);
        count_ += value ? 1 : 0;
    }
    // Nothing, where nothing was known.
    std::optional<double> value() const { return count_ > 0 ? std::optional(sum_ / count_) : std::nullopt; }

private:
    double sum_ = 0;
    int count_ = 0;
};

} // namespace dockdist
