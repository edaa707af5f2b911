#include "client/report/table_widths.hpp"

#include <algorithm>
#include <optional>

namespace dockdist {
namespace {

constexpr std::size_t column_gap = 2;

std::size_t row_width(const std::vector<FittedColumn>& fitted) {
    std::size_t width = 0;
    for (const auto& column : fitted) {
        if (column.place == FittedColumn::Place::row) {
            width += (width > 0 ? column_gap : 0) + column.width;
        }
    }
    return width;
}

// Takes `excess` from the widest, down to what each needs at least. False: that is not enough, and nothing is
// changed.
bool take_from_widest(std::vector<FittedColumn>& fitted, const std::vector<std::size_t>& least,
                      std::size_t excess) {
    auto cut = fitted;
    while (excess > 0) {
        std::optional<std::size_t> widest;
        for (std::size_t i = 0; i < cut.size(); ++i) {
            if (cut[i].place == FittedColumn::Place::row && cut[i].width > least[i] &&
                (!widest || cut[i].width >= cut[*widest].width)) {
                widest = i;
            }
        }
        if (!widest) {
            return false;
        }
        --cut[*widest].width;
        --excess;
    }
    fitted = std::move(cut);
    return true;
}

bool fits(std::vector<FittedColumn>& fitted, const std::vector<std::size_t>& least, std::size_t columns) {
    const auto width = row_width(fitted);
    return width <= columns || take_from_widest(fitted, least, width - columns);
}

// The shown column that is to be given up first.
std::optional<std::size_t> least_wanted(const std::vector<FittedColumn>& fitted,
                                        const std::vector<ColumnWidth>& wanted) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < fitted.size(); ++i) {
        if (fitted[i].place == FittedColumn::Place::row && wanted[i].give_up > 0 &&
            (!found || wanted[i].give_up < wanted[*found].give_up)) {
            found = i;
        }
    }
    return found;
}

} // namespace

std::vector<FittedColumn> fit_columns(const std::vector<ColumnWidth>& wanted, std::size_t columns) {
    using Place = FittedColumn::Place;
    std::vector<FittedColumn> fitted;
    std::vector<std::size_t> least;
    for (const auto& column : wanted) {
        fitted.push_back({.width = column.natural});
        least.push_back(column.narrow == Narrow::keep ? column.natural
                                                      : std::min(column.natural, column.least));
    }
    if (columns == 0 || fits(fitted, least, columns)) {
        return fitted;
    }
    while (const auto gone = least_wanted(fitted, wanted)) {
        fitted[*gone].place = wanted[*gone].narrow == Narrow::wrap ? Place::below : Place::nowhere;
        if (fits(fitted, least, columns)) {
            return fitted;
        }
    }
    for (std::size_t i = 1; i < wanted.size(); ++i) {
        if (wanted[i].narrow == Narrow::wrap) {
            fitted[i].place = Place::below;
        }
    }
    if (fits(fitted, least, columns)) {
        return fitted;
    }
    constexpr std::size_t still_a_word = 3;
    for (auto& width : least) {
        width = std::min(width, still_a_word);
    }
    while (!fits(fitted, least, columns)) {
        const auto last = std::ranges::find(fitted.rbegin(), fitted.rend(), Place::row, &FittedColumn::place);
        if (std::ranges::count(fitted, Place::row, &FittedColumn::place) == 1) {
            last->width = columns;
            break;
        }
        last->place = Place::nowhere;
    }
    return fitted;
}

} // namespace dockdist
