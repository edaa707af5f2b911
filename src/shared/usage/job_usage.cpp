#include "shared/usage/job_usage.hpp"

#include "shared/core/units.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace dockdist {
namespace {

using wire::Figure;

// Three digits, as many behind the point as that leaves.
std::string three_digits(double value) {
    const auto size = std::abs(value);
    const int behind = size >= 99.95 || size == 0 ? 0 : size >= 9.995 ? 1 : 2;
    return decimal(value, behind);
}

std::string bytes_text(double bytes) {
    constexpr double most = 1e18;
    return format_size(Bytes{static_cast<std::uint64_t>(std::clamp(bytes, 0.0, most))});
}

// What of it is told at a run's end, where so much was measured.
struct Told {
    Figure figure;
    bool with_peak;
};
constexpr std::array<Told, 6> told_at_the_end{{{Figure::gpu_utilization, true},
                                               {Figure::gpu_memory, true},
                                               {Figure::gpu_power, true},
                                               {Figure::gpu_temperature, false},
                                               {Figure::cpu, true},
                                               {Figure::memory, false}}};

std::string told_text(const FigureSum& sum, bool with_peak) {
    const auto mean = figure_text(sum.figure, sum.mean);
    const auto peak = figure_text(sum.figure, sum.peak);
    return figure_title(sum.figure) + " " +
           (!with_peak     ? "up to " + peak
            : mean == peak ? mean
                           : mean + " (peak " + peak + ")");
}

// "12.1 GiB in, 12.0 GiB out".
std::string traffic_text(const UsageSum& usage, Figure in, Figure out) {
    const auto* received = usage.find(in);
    const auto* sent = usage.find(out);
    if (received == nullptr || sent == nullptr) {
        return {};
    }
    return bytes_text(received->total()) + " in, " + bytes_text(sent->total()) + " out";
}

struct NodeUse {
    const NodeName* node = nullptr;
    const wire::FigureUse* use = nullptr;
    double total() const { return use->mean * use->seconds; }
};

// What is to be added. Nodes of one host tell the same interfaces and disks, each for its own time: the one
// that saw most stands for the host. Nor does it count how idle a node in reserve was.
std::vector<NodeUse> uses_of(const std::vector<NodeUsage>& nodes, Figure figure) {
    const bool of_host = figure >= Figure::network_received;
    const bool spares_count =
        figure != Figure::gpu_utilization || std::ranges::all_of(nodes, &NodeUsage::spare);
    std::vector<NodeUse> uses;
    std::map<std::string_view, std::size_t> hosts; // the place in `uses`
    for (const auto& node : nodes) {
        const auto use = std::ranges::find(node.usage.figures, figure, &wire::FigureUse::figure);
        if (use == node.usage.figures.end() || use->seconds <= 0 || (node.spare && !spares_count)) {
            continue;
        }
        const NodeUse own{.node = &node.node, .use = &*use};
        const auto [place, is_first] = hosts.try_emplace(node.usage.host, uses.size());
        if (is_first || !of_host || node.usage.host.empty()) {
            uses.push_back(own);
        } else if (own.total() > uses[place->second].total()) {
            uses[place->second] = own;
        }
    }
    return uses;
}

} // namespace

const FigureSum* UsageSum::find(Figure figure) const {
    const auto found = std::ranges::find(figures, figure, &FigureSum::figure);
    return found == figures.end() ? nullptr : &*found;
}

UsageSum sum_usage(const std::vector<NodeUsage>& nodes) {
    UsageSum sum;
    for (const auto& node : nodes) {
        const auto& usage = node.usage;
        sum.gpus += usage.gpus;
        sum.gpu_hours += usage.gpus * static_cast<double>(usage.duration_ms) / 3'600'000;
        sum.duration_ms = std::max(sum.duration_ms, usage.duration_ms);
    }
    for (const auto& facts : wire::all_figures()) {
        FigureSum figure{.figure = facts.figure};
        double weighted = 0;
        for (const auto& one : uses_of(nodes, facts.figure)) {
            weighted += one.total();
            if (figure.seconds <= 0 || one.use->peak > figure.peak) {
                figure.peak = one.use->peak;
                figure.peak_node = *one.node;
                figure.peak_gpu = one.use->peak_gpu;
            }
            figure.seconds += one.use->seconds;
        }
        if (figure.seconds > 0) {
            figure.mean = weighted / figure.seconds;
            sum.figures.push_back(std::move(figure));
        }
    }
    return sum;
}

std::string figure_title(Figure figure) {
    static constexpr std::array<const char*, 13> titles{
        "GPU load",   "GPU memory",  "GPU power", "GPU temperature", "GPU clock", "CPU",         "memory",
        "network in", "network out", "RDMA in",   "RDMA out",        "disk read", "disk written"};
    return titles.at(static_cast<std::size_t>(figure));
}

std::string figure_text(Figure figure, double value) {
    switch (figure) {
    case Figure::gpu_utilization:
        return decimal(value, 0) + " %";
    case Figure::gpu_memory:
    case Figure::memory:
        return bytes_text(value);
    case Figure::gpu_power:
        return decimal(value, 0) + " W";
    case Figure::gpu_temperature:
        return decimal(value, 0) + " °C";
    case Figure::gpu_clock:
        return decimal(value, 0) + " MHz";
    case Figure::cpu:
        return three_digits(value) + " cores";
    case Figure::network_received:
    case Figure::network_sent:
    case Figure::rdma_received:
    case Figure::rdma_sent:
    case Figure::disk_read:
    case Figure::disk_written:
        return bytes_text(value) + "/s";
    }
    return {};
}

std::string hours_text(double hours) {
    if (hours >= 0.01 || hours <= 0) {
        return three_digits(hours);
    }
    if (hours < 0.0001) {
        return "<0.0001";
    }
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.2g", hours);
    return text.data();
}

std::string energy_text(double joule) {
    constexpr double watt_hour = 3600;
    return joule >= 1000 * watt_hour ? three_digits(joule / watt_hour / 1000) + " kWh"
                                     : three_digits(joule / watt_hour) + " Wh";
}

std::string total_text(const FigureSum& sum) {
    switch (sum.figure) {
    case Figure::gpu_power:
        return energy_text(sum.total());
    case Figure::cpu:
        return hours_text(sum.total() / 3600) + " core hours";
    case Figure::network_received:
    case Figure::network_sent:
    case Figure::rdma_received:
    case Figure::rdma_sent:
    case Figure::disk_read:
    case Figure::disk_written:
        return bytes_text(sum.total());
    default:
        return {};
    }
}

std::string usage_line(const UsageSum& usage) {
    if (usage.figures.empty()) {
        return {};
    }
    std::string text = format_duration(std::chrono::milliseconds(usage.duration_ms));
    if (usage.gpus > 0) {
        text += ", " + hours_text(usage.gpu_hours) + " GPU hours";
    }
    const auto* separator = "; ";
    for (const auto& [figure, with_peak] : told_at_the_end) {
        if (const auto* sum = usage.find(figure)) {
            text += std::exchange(separator, ", ") + told_text(*sum, with_peak);
        }
    }
    for (const auto& [title, in, out] :
         {std::tuple{"network ", Figure::network_received, Figure::network_sent},
          {"RDMA ", Figure::rdma_received, Figure::rdma_sent}}) {
        if (const auto traffic = traffic_text(usage, in, out); !traffic.empty()) {
            text += "; " + (title + traffic);
        }
    }
    return text;
}

nlohmann::json usage_json(const UsageSum& usage) {
    nlohmann::json json{
        {"gpus", usage.gpus}, {"gpu_hours", usage.gpu_hours}, {"duration_ms", usage.duration_ms}};
    for (const auto& sum : usage.figures) {
        const auto& facts = wire::facts_of(sum.figure);
        auto& figure = json[facts.name];
        figure = {{"mean", sum.mean}, {"peak", sum.peak}, {"peak_node", sum.peak_node.str()}};
        if (sum.peak_gpu >= 0) {
            figure["peak_gpu"] = sum.peak_gpu;
        }
        if (*facts.total != '\0') {
            json[facts.total] = sum.total();
        }
    }
    return json;
}

} // namespace dockdist
