#include "client/job/job_cells.hpp"

#include "client/job/gpu_text.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t most_node_names = 4; // one by one

} // namespace

std::string nodes_cell(const std::vector<std::string>& nodes) {
    return nodes.size() > most_node_names ? short_host_list(nodes, node_columns)
                                          : fmt::format("{}", fmt::join(nodes, ","));
}

std::string local_time(std::int64_t unix_ms) {
    const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string units_cell(const JobReport& job) {
    std::vector<std::string> nodes;
    for (const auto& [node, units] : job.units) {
        std::vector<int> numbers;
        for (const auto& unit : units) {
            numbers.push_back(unit.index);
        }
        nodes.push_back(ranges_text(std::move(numbers)));
    }
    if (nodes.empty()) {
        return "-";
    }
    return std::ranges::adjacent_find(nodes, std::not_equal_to()) == nodes.end()
               ? nodes.front()
               : fmt::format("{}", fmt::join(nodes, "/"));
}

} // namespace dockdist
