// data: models and data sets, from a host or from here, kept by every host.
#include "client/spec/host_mounts.hpp"
#include "client/spec/names.hpp"
#include "client/spec/sections.hpp"
#include "shared/core/path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

// HOST:/path, or a path here.
void read_data_from(Reader& reader, const Value& value, DataSpec& data) {
    const auto text = reader.line(value, "HOST:/path or a path");
    if (!text) {
        return;
    }
    const auto colon = text->find(':');
    if (colon != std::string::npos && text->find_first_of("/~") > colon) {
        data.host = text->substr(0, colon);
        data.source = text->substr(colon + 1);
        if (data.host.empty() || !data.source.starts_with('/') || normal_path(data.source) == "/") {
            reader.error(value, fmt::format("expected HOST:/path or a path, found {}", in_quotes(*text)),
                         "an absolute path on a host: `a:/data/llama`; or one of this machine: `./models`");
            data.source.clear();
        }
    } else if (auto source = reader.client_path(value, *text)) {
        data.source = std::move(*source);
    }
}

void read_data_to(Reader& reader, const Value& value, DataSpec& data) {
    const auto target = reader.line(value, "a path on the hosts or a volume's name");
    if (!target || !check_host_source(reader, value, *target)) {
        return;
    }
    if (normal_path(*target) == "/" || target->find(':') != std::string::npos) {
        reader.error(value, fmt::format("{} cannot be filled", in_quotes(*target)),
                     "name a folder of its own, without a colon: `/data/llama`");
        return;
    }
    if (const auto remark = target->starts_with('/') ? judge_host_mount(*target, false) : std::nullopt) {
        reader.error(value, fmt::format("{} is no place for data: it is the host's own", in_quotes(*target)),
                     "name a folder of its own: `/data/llama`");
        return;
    }
    data.target = *target;
}

bool one_holds_the_other(const DataSpec& data) {
    const auto source = normal_path(data.source);
    const auto target = normal_path(data.target);
    return target.starts_with('/') && source != target &&
           (is_in_folder(source, target) || is_in_folder(target, source));
}

constexpr std::array data_table{
    Key<DataSpec>{"from", read_data_from},
    Key<DataSpec>{"to", read_data_to},
    Key<DataSpec>{"delete", [](Reader& reader, const Value& value,
                               DataSpec& data) { data.remove = reader.boolean(value).value_or(false); }},
    Key<DataSpec>{"exclude", [](Reader& reader, const Value& value,
                                DataSpec& data) { read_excluded(reader, value, data.exclude); }},
};

} // namespace

std::span<const Key<DataSpec>> data_keys() {
    return data_table;
}

void read_data(Reader& reader, const Value& value, ClusterDraft& draft) {
    constexpr std::string_view form = "write {from: \"a:/data/llama\", to: /data/llama}";
    for (const auto& item : reader.list(value, "a list", std::string(form))) {
        DataSpec data;
        if (!reader.is_map(item, "{from, to}", std::string(form))) {
            continue;
        }
        read_keys(reader, item, data_keys(), data);
        for (const std::string_view key : {"from", "to"}) {
            if (item.node->find(key) == nullptr) {
                reader.error(item, fmt::format("`{}` is missing", key), std::string(form));
            }
        }
        if (data.source.empty() || data.target.empty()) {
            continue;
        }
        if (!data.host.empty() && one_holds_the_other(data)) {
            reader.error(item, "one of `from` and `to` is inside the other, on the host that has both",
                         "name folders beside each other, or the same one");
            continue;
        }
        if (std::ranges::any_of(draft.spec.data, [&](const DataSpec& other) {
                return normal_path(other.target) == normal_path(data.target);
            })) {
            reader.error(item, fmt::format("the target {} is given twice", in_quotes(data.target)),
                         "keep one of them");
            continue;
        }
        draft.spec.data.push_back(std::move(data));
        draft.data.push_back(item);
    }
}

} // namespace dockdist
