#include "client/spec/sections.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

constexpr std::string_view forms = "all, none, amd, a count, or a list of indices or UUIDs";
constexpr std::int64_t max_gpus = 1024;

bool is_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_index(std::string_view text) {
    return is_number(text) && text.size() <= 4 && (text.front() != '0' || text.size() == 1);
}

// "0", "0:1" for the second MIG instance of it, "GPU-8f0c…", "MIG-…", or a CDI name "nvidia.com/gpu=0".
bool is_device(std::string_view text) {
    if (const auto colon = text.find(':'); is_number(text.substr(0, colon))) {
        return is_index(text.substr(0, colon)) &&
               (colon == std::string_view::npos || is_index(text.substr(colon + 1)));
    }
    const bool uuid = text.starts_with("GPU-") || text.starts_with("MIG-");
    const bool cdi = text.find('/') != std::string_view::npos && text.find('=') != std::string_view::npos;
    return (uuid || cdi) && text.size() <= 128 && std::ranges::all_of(text, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      std::string_view("-_./=:").find(c) != std::string_view::npos;
           });
}

void read_devices(Reader& reader, const Value& value, GpuSpec& gpus, bool& is_read) {
    gpus.kind = GpuSpec::Kind::devices;
    if (value.node->items.empty()) {
        reader.error(value, "the list is empty", "write `none` for a host without GPUs");
        is_read = false;
    }
    for (const auto& item : reader.list(value, forms)) {
        const auto device = reader.line(item, "an index or UUID");
        if (!device) {
            is_read = false;
        } else if (!is_device(*device)) {
            reader.error(item, in_quotes(*device) + " names no GPU",
                         "write an index (0, 1, …) or a UUID (GPU-…) as `nvidia-smi -L` shows it");
            is_read = false;
        } else if (std::ranges::find(gpus.devices, *device) != gpus.devices.end()) {
            reader.error(item, fmt::format("the GPU {} is given twice", in_quotes(*device)),
                         "remove one of them");
        } else {
            gpus.devices.push_back(*device);
        }
    }
}

} // namespace

void read_gpus(Reader& reader, const Value& value, GpuSpec& gpus, bool& is_read) {
    if (value.node->kind == YamlNode::Kind::list) {
        read_devices(reader, value, gpus, is_read);
        return;
    }
    const auto text = reader.text(value, forms);
    is_read = false;
    if (!text) {
        return;
    }
    if (*text == "all" || *text == "none" || *text == "amd") {
        gpus.kind = *text == "none" ? GpuSpec::Kind::none : GpuSpec::Kind::all;
        gpus.amd = *text == "amd";
        is_read = true;
    } else if (is_number(*text)) {
        if (const auto count = reader.integer(value, 0, max_gpus)) {
            gpus = {.kind = *count == 0 ? GpuSpec::Kind::none : GpuSpec::Kind::count,
                    .count = static_cast<int>(*count)};
            is_read = true;
        }
    } else {
        static constexpr std::array<std::string_view, 3> words{"all", "none", "amd"};
        const auto meant = nearest(*text, words);
        const bool listed = text->find(',') != std::string::npos || is_device(*text);
        reader.error(
            value,
            fmt::format("expected {}, found {}", forms, text->empty() ? "empty text" : in_quotes(*text)),
            listed          ? "write a list: `gpus: [0, 1]`"
            : meant.empty() ? ""
                            : fmt::format("did you mean `{}`?", meant));
    }
}

} // namespace dockdist
