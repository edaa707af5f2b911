#include "shared/gpu/kfd.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/gpu/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

namespace dockdist {
namespace {

constexpr std::uint64_t amd_vendor = 0x1002;
constexpr std::string_view amd_prefix = "GPU-";
constexpr std::size_t amd_digits = 16;

std::string in_hex(std::uint64_t number) {
    std::array<char, amd_digits> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
    return {digits.data(), end};
}

} // namespace

std::optional<KfdGpu> parse_kfd(std::string_view properties) {
    std::map<std::string, std::uint64_t> values;
    for (const auto& line : split(properties, '\n')) {
        const auto words = split(line, ' ');
        if (const auto value = words.size() == 2 ? whole_number<std::uint64_t>(words[1]) : std::nullopt) {
            values.insert_or_assign(words[0], *value);
        }
    }
    constexpr std::uint64_t most_minor = 1U << 20U;
    const auto minor = values["drm_render_minor"];
    if (values["simd_count"] == 0 || values["vendor_id"] != amd_vendor || minor == 0 || minor > most_minor) {
        return std::nullopt;
    }
    KfdGpu gpu{.render_minor = static_cast<int>(minor)};
    if (const auto number = values["unique_id"]; number != 0) {
        const auto digits = in_hex(number);
        gpu.uuid = std::string(amd_prefix) + std::string(amd_digits - digits.size(), '0') + digits;
    }
    // 90402: major 9, minor 4, stepping 2, the last two in hex: gfx942, gfx90a.
    if (const auto version = values["gfx_target_version"]; version != 0) {
        gpu.kind =
            "gfx" + std::to_string(version / 10000) + in_hex(version / 100 % 100) + in_hex(version % 100);
    }
    return gpu;
}

std::optional<std::int64_t> parse_ras(std::string_view text) {
    for (const auto& line : split(text, '\n')) {
        if (line.starts_with("ue: ")) {
            return whole_number<std::int64_t>(std::string_view(line).substr(4));
        }
    }
    return std::nullopt;
}

bool is_amd_uuid(std::string_view id) {
    return id.size() == amd_prefix.size() + amd_digits && id.starts_with(amd_prefix) &&
           std::ranges::all_of(id.substr(amd_prefix.size()), [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
           });
}

std::string devices_within(std::string_view outer, std::string_view inner) {
    const auto there = split(outer, ',');
    std::string list;
    for (auto word : split(inner, ',')) {
        std::erase_if(word, [](char c) { return c == ' ' || c == '\t'; });
        const auto index = whole_number<std::int64_t>(word);
        if (word.empty() || (index && (*index < 0 || *index >= static_cast<std::int64_t>(there.size())))) {
            break;
        }
        list += (list.empty() ? "" : ",") + (index ? there[static_cast<std::size_t>(*index)] : word);
    }
    return list;
}

const char* devices_variable_for(std::string_view visible) {
    return is_amd_uuid(visible.substr(0, visible.find(','))) ? rocm_devices_variable : cuda_devices_variable;
}

} // namespace dockdist
