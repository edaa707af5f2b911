// The rows of `dockdist top`: by node, by GPU, by job, by rank; or what is to be said, all of it. Pure.
#pragma once

#include "client/report/cell_table.hpp"
#include "client/top/top_model.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

enum class TopView { nodes, gpus, jobs, ranks, found };
inline constexpr std::array top_views{TopView::nodes, TopView::gpus, TopView::jobs, TopView::ranks,
                                      TopView::found};

struct TopCell {
    std::string text{};             // foreign, where it is a name
    std::optional<double> number{}; // what it is sorted by; absent: by its text, and behind the numbers
};
struct TopTable {
    std::size_t keys = 1; // of the columns, those at the left that say whose row it is
    std::vector<Column> columns{};
    std::vector<std::vector<TopCell>> rows{}; // in the file's order of nodes
};

// `graph`: how many columns a history takes; 0: there is none. TopView::found has no rows here: its lines are
// the screen's.
TopTable top_table(const TopModel& model, TopView view, std::size_t graph, bool unicode);

// The words alone of so many rows.
CellTable cells_of(const TopTable& table, std::size_t first = 0,
                   std::size_t count = std::numeric_limits<std::size_t>::max());

// A column each; absent ones are blank.
std::string history_graph(const HistoryPoints& points, bool unicode);

// By the column, the greatest first where it holds numbers; rows that are alike keep their order.
void sort_rows(TopTable& table, std::size_t column, bool inverted);
// Keeps the rows one of whose cells holds these words, in any case of letters.
void filter_rows(TopTable& table, const std::string& words);

} // namespace dockdist
