// What a person types at `dockdist top`, and what it does to the view. Pure.
#pragma once

#include "client/top/top_table.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct TopKey {
    enum class Kind {
        character,
        enter,
        backspace,
        escape,
        tab,
        back_tab,
        up,
        down,
        page_up,
        page_down,
        left,
        right,
        home,
        end
    };
    Kind kind = Kind::character;
    char character = 0; // printable ASCII
    bool operator==(const TopKey&) const = default;
};

// Bytes of a terminal as keys. A sequence may come in several pieces; an escape at a piece's end is the key.
class TopKeyReader {
public:
    std::vector<TopKey> read(std::string_view bytes);

private:
    std::string rest_{};
};

inline constexpr std::size_t most_first_row = 1'000'000; // the last page, whatever there is

struct TopState {
    TopView view = TopView::nodes;
    std::array<std::string, top_views.size()>
        sort{}; // title of the column, of each view; empty: as the file has them
    bool inverted = false;
    std::string filter{};
    bool typing = false;     // the filter
    std::size_t first = 0;   // row that is shown at the top
    std::size_t skipped = 0; // columns that are not shown, behind those that say whose row it is
    bool keys = false;       // what can be typed is shown, in place of the rows
    bool over = false;

    std::string& sort_title() { return sort[static_cast<std::size_t>(view)]; }
    const std::string& sort_title() const { return sort[static_cast<std::size_t>(view)]; }
};

// `columns` by which rows may be sorted, in their order; `page`: how many rows are shown.
void press(TopState& state, const TopKey& key, const std::vector<std::string>& columns, std::size_t page);

} // namespace dockdist
