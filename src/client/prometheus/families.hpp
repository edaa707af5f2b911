// Every metric there is: its name, what it means, and where in a node's sample it stands.
#pragma once

#include "client/prometheus/exposition.hpp"

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// Beside cluster, node and host, which every sample bears.
using MetricLabels = std::vector<std::pair<const char*, std::string>>;

struct MetricFamily {
    enum class Type { gauge, counter, info };
    using Tell = std::function<void(double value, const MetricLabels& labels)>;
    const char* name = ""; // without _total and _info
    const char* help = "";
    Type type = Type::gauge;
    void (*tell)(const SampledNode& node, const Tell& out) = nullptr;
};
std::span<const MetricFamily> metric_families();

} // namespace dockdist
