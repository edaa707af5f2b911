#include "shared/gpu/gpu_figures.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace dockdist {
namespace {

constexpr std::size_t figure_fields = 14;
constexpr double mib = 1024.0 * 1024.0;

// Empty for "[N/A]" and its kin.
std::optional<double> figure_of(std::string_view text) {
    const auto value = whole_number<double>(text);
    return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

std::optional<std::uint64_t> bytes_of_mib(std::string_view text) {
    const auto value = figure_of(text);
    return value && *value < 1e9 ? std::optional(static_cast<std::uint64_t>(*value * mib)) : std::nullopt;
}

// "0x0000000000000004".
std::optional<std::uint64_t> bits_of(std::string_view text) {
    if (!text.starts_with("0x")) {
        return std::nullopt;
    }
    std::uint64_t bits = 0;
    const auto* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 2, end, bits, 16);
    constexpr auto most = static_cast<std::uint64_t>(INT64_MAX);
    return error == std::errc{} && stop == end && bits <= most ? std::optional(bits) : std::nullopt;
}

} // namespace

std::vector<std::string> gpu_figures_command(int interval_ms, SmiQuestion figures) {
    auto argv = smi_argv(figures);
    argv.insert(argv.end(), {"-lms", std::to_string(interval_ms)});
    return argv;
}

std::optional<GpuFiguresLine> parse_gpu_figures(std::string_view line) {
    const auto fields = split(line, ',');
    if (fields.size() != figure_fields) {
        return std::nullopt;
    }
    std::array<std::string_view, figure_fields> field;
    for (std::size_t i = 0; i < figure_fields; ++i) {
        field.at(i) = trimmed(fields[i], " \t\r");
    }
    const auto index = whole_number<int>(field[0]);
    if (!index || *index < 0) {
        return std::nullopt;
    }
    return GpuFiguresLine{.gpu = {.index = *index,
                                  .uuid = std::string(field[1].starts_with('[') ? "" : field[1]),
                                  .name = std::string(field[2]),
                                  .memory_bytes = bytes_of_mib(field[5]),
                                  .power_limit_w = figure_of(field[6]),
                                  .most_clock_mhz = figure_of(field[7])},
                          .driver = std::string(field[3]),
                          .mig = field[4] == "Enabled",
                          .figures = {.utilization_percent = figure_of(field[8]),
                                      .memory_bytes = bytes_of_mib(field[9]),
                                      .power_w = figure_of(field[10]),
                                      .temperature_c = figure_of(field[11]),
                                      .clock_mhz = figure_of(field[12]),
                                      .throttle = bits_of(field[13])}};
}

} // namespace dockdist
