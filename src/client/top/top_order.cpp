#include "client/top/top_table.hpp"
#include "shared/core/ascii.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist {

std::string history_graph(const HistoryPoints& points, bool unicode) {
    static constexpr std::array blocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static constexpr std::array signs{"_", ".", ":", "-", "=", "+", "*", "#"};
    std::string graph;
    for (const auto& share : points) {
        const auto level = share ? static_cast<std::size_t>(std::clamp(*share, 0.0, 1.0) * 7.999) : 0;
        graph += !share ? " " : unicode ? blocks.at(level) : signs.at(level);
    }
    return graph;
}

void sort_rows(TopTable& table, std::size_t column, bool inverted) {
    std::vector<std::size_t> order(table.rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    const auto before = [&](const TopCell& one, const TopCell& other) {
        if (one.number && other.number) {
            return inverted ? *one.number < *other.number : *one.number > *other.number;
        }
        if (one.number.has_value() != other.number.has_value()) {
            return one.number.has_value();
        }
        return inverted ? one.text > other.text : one.text < other.text;
    };
    std::ranges::sort(order, [&](std::size_t one, std::size_t other) {
        const auto& left = table.rows[one][column];
        const auto& right = table.rows[other][column];
        return before(left, right) || (!before(right, left) && one < other);
    });
    std::vector<std::vector<TopCell>> rows;
    for (const auto place : order) {
        rows.push_back(std::move(table.rows[place]));
    }
    table.rows = std::move(rows);
}

void filter_rows(TopTable& table, const std::string& words) {
    const auto wanted = to_lower(words);
    std::erase_if(table.rows, [&](const std::vector<TopCell>& row) {
        return std::ranges::none_of(
            row, [&](const TopCell& cell) { return to_lower(cell.text).find(wanted) != std::string::npos; });
    });
}

} // namespace dockdist
