// Figures as the cells of `dockdist top`, and their colours.
#pragma once

#include "client/top/top_table.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

TopCell absent_cell();
TopCell number_cell(const std::optional<double>& value);
TopCell duration_cell(std::int64_t ms);
TopCell share_cell(const std::optional<double>& share); // "87 %" of 0.87
// "812M", "1.2G": powers of 1024.
TopCell size_cell(const std::optional<double>& bytes);
TopCell size_cell(const std::optional<std::uint64_t>& bytes);
TopCell of_cell(const std::optional<std::uint64_t>& used, const std::optional<std::uint64_t>& total);
TopCell power_cell(const std::optional<double>& power, const std::optional<double>& limit);
// Why a clock is lowered, idleness aside; empty: for nothing.
TopCell throttle_cell(std::uint64_t bits);

// For Column::paint.
std::string_view paint_load(std::string_view cell);
std::string_view paint_fill(std::string_view cell); // of a file system
std::string_view paint_heat(std::string_view cell);
std::string_view paint_throttle(std::string_view cell);
std::string_view paint_trouble(std::string_view cell);
std::string_view paint_note(std::string_view cell);

} // namespace dockdist
