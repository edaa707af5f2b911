#include "check/report/gpus.hpp"

#include "core/text.hpp"

#include <cctype>
#include <charconv>

namespace dockdist {
namespace {

constexpr std::size_t field_count = 9;

std::string trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
        text.remove_prefix(1);
    }
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
        text.remove_suffix(1);
    }
    return std::string(text);
}

std::optional<double> number(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

} // namespace

std::vector<std::string> gpu_query() {
    return {"nvidia-smi",
            "--query-gpu=index,uuid,name,memory.used,memory.total,utilization.gpu,temperature.gpu,power.draw,"
            "driver_version",
            "--format=csv,noheader,nounits"};
}

Result<std::vector<GpuState>> parse_gpus(std::string_view csv) {
    std::vector<GpuState> gpus;
    for (const auto& line : split(csv, '\n')) {
        if (trimmed(line).empty()) {
            continue;
        }
        auto fields = split(line, ',');
        for (auto& field : fields) {
            field = trimmed(field);
        }
        const auto index = fields.empty() ? std::nullopt : number(fields.front());
        if (fields.size() != field_count || !index) {
            return Error{ErrorKind::protocol, "", "nvidia-smi answered something unknown: " + printable(line),
                         ""};
        }
        gpus.push_back({.index = static_cast<int>(*index),
                        .uuid = fields[1],
                        .name = fields[2],
                        .driver = fields[8],
                        .memory_used_mib = number(fields[3]),
                        .memory_total_mib = number(fields[4]),
                        .utilization_percent = number(fields[5]),
                        .temperature_c = number(fields[6]),
                        .power_w = number(fields[7])});
    }
    return gpus;
}

std::string parse_cuda_version(std::string_view table) {
    constexpr std::string_view title = "CUDA Version:";
    const auto begin = table.find(title);
    if (begin == std::string_view::npos) {
        return "";
    }
    const auto rest = table.substr(begin + title.size());
    return trimmed(rest.substr(0, rest.find_first_of("|\n")));
}

} // namespace dockdist
