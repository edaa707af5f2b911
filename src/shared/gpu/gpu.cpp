#include "shared/gpu/gpu.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace dockdist {
namespace {

constexpr std::size_t field_count = 11;
constexpr std::string_view blanks = " \t\r";
constexpr std::string_view lost_prefix = "Unable to determine the device handle for ";

std::optional<double> figure(std::string_view text) {
    const auto value = whole_number<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<int> index_of(std::string_view text) {
    const auto index = whole_number<int>(text);
    return index && *index >= 0 ? index : std::nullopt;
}

// A line of the query's answer, however much of it there is: it begins with a number and a comma.
bool tells_figures(std::string_view line) {
    const auto first = trimmed(line.substr(0, line.find(',')));
    return first.size() < line.size() && !first.empty() &&
           first.find_first_not_of("-0123456789") == std::string_view::npos;
}

// What follows `before` in the text, up to one of `end`.
std::string_view between(std::string_view text, std::string_view before, std::string_view end) {
    const auto begin = text.find(before);
    if (begin == std::string_view::npos) {
        return {};
    }
    const auto rest = text.substr(begin + before.size());
    return trimmed(rest.substr(0, rest.find_first_of(end)), blanks);
}

// `nvidia-smi -L`, a line a device:
//   GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
//     MIG 3g.40gb     Device  0: (UUID: MIG-c7384736-a75d-5afc-978f-d2f1294409fd)
std::optional<int> listed_gpu(std::string_view line) {
    return line.starts_with("GPU ") ? index_of(between(line, "GPU ", ":")) : std::nullopt;
}

std::optional<MigInstance> listed_instance(std::string_view line, int gpu) {
    line = trimmed(line, blanks);
    const auto index = index_of(between(line, " Device", ":"));
    const auto uuid = between(line, "(UUID:", ")");
    if (!line.starts_with("MIG ") || !index || uuid.empty()) {
        return std::nullopt;
    }
    return MigInstance{.uuid = std::string(uuid),
                       .profile = std::string(between(line, "MIG ", " ")),
                       .gpu = gpu,
                       .index = *index};
}

} // namespace

Result<std::vector<Gpu>> parse_gpus(std::string_view csv) {
    std::vector<Gpu> gpus;
    std::string words;
    const auto unknown = [](const std::string& line) {
        return Error{ErrorKind::protocol, "", "nvidia-smi answered something unknown: " + printable(line),
                     ""};
    };
    for (const auto& line : split(csv, '\n')) {
        if (trimmed(line, blanks).empty() || line.starts_with(lost_prefix)) {
            continue;
        }
        if (!tells_figures(line)) {
            words = words.empty() ? line : words;
            continue;
        }
        const auto parts = split(line, ',');
        const std::vector<std::string_view> fields(parts.begin(), parts.end());
        const auto field = [&](std::size_t place) { return trimmed(fields[place], blanks); };
        const auto index = index_of(field(0));
        if (fields.size() != field_count || !index) {
            return unknown(line);
        }
        gpus.push_back({.index = *index,
                        .uuid = std::string(field(1).starts_with('[') ? "" : field(1)),
                        .name = std::string(field(2)),
                        .driver = std::string(field(8)),
                        .memory_used_mib = figure(field(3)),
                        .memory_total_mib = figure(field(4)),
                        .utilization_percent = figure(field(5)),
                        .temperature_c = figure(field(6)),
                        .power_w = figure(field(7)),
                        .uncorrected = whole_number<std::int64_t>(field(10)),
                        .mig = field(9) == "Enabled"});
    }
    if (gpus.empty() && !words.empty()) {
        return unknown(words);
    }
    return gpus;
}

std::vector<std::string> lost_gpus(std::string_view output) {
    std::vector<std::string> lost;
    for (const auto& line : split(output, '\n')) {
        if (line.starts_with(lost_prefix)) {
            lost.emplace_back(trimmed(line, blanks));
        }
    }
    return lost;
}

std::vector<std::string> smi_warnings(std::string_view output) {
    std::vector<std::string> warnings;
    for (const auto& line : split(output, '\n')) {
        const std::string text(trimmed(line));
        if (!text.empty() && !line.starts_with(lost_prefix) && !tells_figures(line) &&
            std::ranges::find(warnings, text) == warnings.end()) {
            warnings.push_back(text);
        }
    }
    return warnings;
}

std::vector<MigInstance> parse_mig(std::string_view listing) {
    std::vector<MigInstance> instances;
    std::optional<int> gpu;
    for (const auto& line : split(listing, '\n')) {
        if (const auto next = listed_gpu(line)) {
            gpu = next;
        } else if (gpu) {
            if (auto instance = listed_instance(line, *gpu)) {
                instances.push_back(std::move(*instance));
            }
        }
    }
    return instances;
}

int count_listed_gpus(std::string_view listing) {
    int gpus = 0;
    for (const auto& line : split(listing, '\n')) {
        gpus += static_cast<int>(listed_gpu(line).has_value());
    }
    const auto instances = parse_mig(listing);
    std::set<int> split_ones;
    for (const auto& instance : instances) {
        split_ones.insert(instance.gpu);
    }
    return gpus - static_cast<int>(split_ones.size()) + static_cast<int>(instances.size());
}

std::string parse_cuda_version(std::string_view table) {
    return std::string(between(table, "CUDA Version:", "|\n"));
}

} // namespace dockdist
