#include "client/top/top_cells.hpp"

#include "client/report/error_text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>

namespace dockdist {
namespace {

constexpr double hot_c = 83, warm_c = 75;

std::string short_size(double bytes) {
    constexpr std::array units{"", "K", "M", "G", "T", "P"};
    std::size_t unit = 0;
    while (bytes >= 999.5 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    return fmt::format("{:.{}f}{}", bytes, unit > 0 && bytes < 9.95 ? 1 : 0, units.at(unit));
}

// The number at its front: 87 of "87 %", 612 of "612/700".
std::optional<double> leading(std::string_view cell) {
    double value = 0;
    const auto error = std::from_chars(cell.data(), cell.data() + cell.size(), value).ec;
    return error == std::errc{} ? std::optional(value) : std::nullopt;
}

} // namespace

TopCell absent_cell() {
    return {.text = "-"};
}

TopCell number_cell(const std::optional<double>& value) {
    return value ? TopCell{fmt::format("{:.0f}", *value), value} : absent_cell();
}

TopCell duration_cell(std::int64_t ms) {
    return {format_duration(std::chrono::milliseconds(ms)), static_cast<double>(ms)};
}

TopCell share_cell(const std::optional<double>& share) {
    return share ? TopCell{fmt::format("{:.0f} %", *share * 100), share} : absent_cell();
}

TopCell size_cell(const std::optional<double>& bytes) {
    return bytes ? TopCell{short_size(*bytes), bytes} : absent_cell();
}

TopCell size_cell(const std::optional<std::uint64_t>& bytes) {
    return size_cell(bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt);
}

TopCell of_cell(const std::optional<std::uint64_t>& used, const std::optional<std::uint64_t>& total) {
    auto cell = size_cell(used);
    if (used && total) {
        cell.text += "/" + size_cell(total).text;
    }
    return cell;
}

TopCell power_cell(const std::optional<double>& power, const std::optional<double>& limit) {
    auto cell = number_cell(power);
    if (power && limit) {
        cell.text += fmt::format("/{:.0f}", *limit);
    }
    return cell;
}

TopCell throttle_cell(std::uint64_t bits) {
    constexpr std::uint64_t idle = 0x1;
    TopCell cell;
    for (const auto& reason : wire::throttle_reasons) {
        if ((bits & reason.bit & ~idle) != 0) {
            cell.text += (cell.text.empty() ? "" : ", ") + std::string(reason.text);
        }
    }
    return cell;
}

std::string_view paint_load(std::string_view cell) {
    constexpr double busy = 80;
    const auto value = leading(cell);
    return !value || *value < 1 ? style::dim : *value >= busy ? style::green : std::string_view();
}

std::string_view paint_fill(std::string_view cell) {
    return leading(cell).value_or(0) >= full_disk_share * 100 ? style::bold_red : std::string_view();
}

std::string_view paint_heat(std::string_view cell) {
    const auto value = leading(cell).value_or(0);
    return value >= hot_c ? style::bold_red : value >= warm_c ? style::yellow : std::string_view();
}

std::string_view paint_throttle(std::string_view cell) {
    return cell.find("too hot") != std::string_view::npos ? style::bold_red : style::yellow;
}

std::string_view paint_trouble(std::string_view) {
    return style::bold_red;
}

std::string_view paint_note(std::string_view) {
    return style::yellow;
}

} // namespace dockdist
