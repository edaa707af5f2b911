// What the nodes' samples are to Prometheus: its text format 0.0.4 and OpenMetrics 1.0. Pure.
//
// https://prometheus.io/docs/instrumenting/exposition_formats/ and
// https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md; names and units by
// https://prometheus.io/docs/practices/naming/ (base units, counters end with _total).
#pragma once

#include "shared/core/names.hpp"
#include "shared/wire/sample.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct SampledNode {
    NodeName node{};
    HostName host{};
    std::optional<bool> up{};             // it is ready, and its samples come; empty: not known yet
    wire::SampleFacts facts{};            // where there is a sample
    std::optional<wire::Sample> sample{}; // the latest; none where it is not up
};

enum class ExpositionFormat { text, openmetrics };
// Of an HTTP answer.
std::string_view content_type(ExpositionFormat format);
// What a client takes, by its Accept header: OpenMetrics where that is named with no lesser weight.
ExpositionFormat accepted_format(std::string_view accept);

// Every figure that a node has told; what it has not told has no line. In the order of the nodes.
std::string exposition(const std::vector<SampledNode>& nodes, const ClusterName& cluster,
                       std::string_view version, ExpositionFormat format);

// Of all that exposition() may hold: "dockdist_gpu_power_watts".
std::vector<std::string> metric_names();

} // namespace dockdist
