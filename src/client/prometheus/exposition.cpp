#include "client/prometheus/exposition.hpp"

#include "client/prometheus/families.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dockdist {
namespace {

// Beyond it a label tells nobody anything.
constexpr std::size_t longest_label = 256;

std::string escaped(std::string_view value) {
    std::string text;
    for (const char c : printable(value.substr(0, longest_label))) {
        if (c == '\\' || c == '"') {
            text += '\\';
        }
        text += c; // printable() has left no newline
    }
    return text;
}

std::string_view type_name(const MetricFamily& family, ExpositionFormat format) {
    switch (family.type) {
    case MetricFamily::Type::gauge:
        return "gauge";
    case MetricFamily::Type::counter:
        return "counter";
    case MetricFamily::Type::info:
        return format == ExpositionFormat::openmetrics ? "info" : "gauge";
    }
    return "unknown";
}

std::string_view suffix_of(const MetricFamily& family) {
    switch (family.type) {
    case MetricFamily::Type::counter:
        return "_total";
    case MetricFamily::Type::info:
        return "_info";
    case MetricFamily::Type::gauge:
        break;
    }
    return "";
}

std::string sample_name(const MetricFamily& family) {
    return fmt::format("{}{}", family.name, suffix_of(family));
}

double weight_of(std::string_view parameters) {
    const auto at = parameters.find("q=");
    double weight = 1;
    if (at != std::string_view::npos) {
        const auto number = parameters.substr(at + 2);
        (void)std::from_chars(number.data(), number.data() + number.size(), weight);
    }
    return weight;
}

} // namespace

std::string_view content_type(ExpositionFormat format) {
    return format == ExpositionFormat::openmetrics
               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
               : "text/plain; version=0.0.4; charset=utf-8";
}

ExpositionFormat accepted_format(std::string_view accept) {
    double openmetrics = 0;
    double text = 0;
    for (const auto& part : split(accept, ',')) {
        const auto semicolon = std::min(part.find(';'), part.size());
        auto type = std::string_view(part).substr(0, semicolon);
        while (type.starts_with(' ')) {
            type.remove_prefix(1);
        }
        const auto weight = weight_of(std::string_view(part).substr(semicolon));
        if (type.starts_with("application/openmetrics-text")) {
            openmetrics = std::max(openmetrics, weight);
        } else if (type.starts_with("text/plain")) {
            text = std::max(text, weight);
        }
    }
    return openmetrics > 0 && openmetrics >= text ? ExpositionFormat::openmetrics : ExpositionFormat::text;
}

std::string exposition(const std::vector<SampledNode>& nodes, const ClusterName& cluster,
                       std::string_view version, ExpositionFormat format) {
    const bool open = format == ExpositionFormat::openmetrics;
    auto text = fmt::format(
        "# HELP dockdist_build{0} The version of dockdist that exports this.\n# TYPE dockdist_build{0} {1}\n"
        "dockdist_build_info{{version=\"{2}\"}} 1\n",
        open ? "" : "_info", open ? "info" : "gauge", escaped(version));
    for (const auto& family : metric_families()) {
        const auto name = sample_name(family);
        const bool bare = open && family.type != MetricFamily::Type::gauge; // the family's name has no suffix
        std::string lines;
        for (const auto& node : nodes) {
            const auto common = fmt::format("cluster=\"{}\",node=\"{}\",host=\"{}\"", escaped(cluster.str()),
                                            escaped(node.node.str()), escaped(node.host.str()));
            family.tell(node, [&](double value, const MetricLabels& labels) {
                lines += name + "{" + common;
                for (const auto& [label, content] : labels) {
                    lines += fmt::format(",{}=\"{}\"", label, escaped(content));
                }
                lines += fmt::format("}} {}\n", value);
            });
        }
        if (!lines.empty()) {
            const auto title = bare ? std::string(family.name) : name;
            text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", title, family.help,
                                type_name(family, format));
            text += lines;
        }
    }
    return text + (open ? "# EOF\n" : "");
}

std::vector<std::string> metric_names() {
    std::vector<std::string> names{"dockdist_build_info"};
    for (const auto& family : metric_families()) {
        names.push_back(sample_name(family));
    }
    return names;
}

} // namespace dockdist
