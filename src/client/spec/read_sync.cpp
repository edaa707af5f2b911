// sync: what is carried to the nodes; collect: what is carried back.
#include "client/spec/sections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

void read_from(Reader& reader, const Value& value, SyncSpec& sync) {
    if (const auto text = reader.line(value, "a path")) {
        if (auto source = reader.client_path(value, *text)) {
            sync.source = std::move(*source);
        }
    }
}

constexpr std::array sync_table{
    Key<SyncSpec>{"from", read_from},
    Key<SyncSpec>{"to", [](Reader& reader, const Value& value,
                           SyncSpec& sync) { sync.target = read_target(reader, value).value_or(""); }},
    Key<SyncSpec>{"delete", [](Reader& reader, const Value& value,
                               SyncSpec& sync) { sync.remove = reader.boolean(value).value_or(false); }},
    Key<SyncSpec>{"exclude", [](Reader& reader, const Value& value,
                                SyncSpec& sync) { read_excluded(reader, value, sync.exclude); }},
};

void read_short(Reader& reader, const Value& value, SyncSpec& sync) {
    const auto text = reader.line(value, "SOURCE:TARGET");
    if (!text) {
        return;
    }
    const auto colon = text->rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text->size()) {
        reader.error(value, fmt::format("expected SOURCE:TARGET, found {}", in_quotes(*text)),
                     "a folder here and an absolute path in the containers: `.:/workspace`");
        return;
    }
    const auto target = text->substr(colon + 1);
    if (const auto reason = refuse_target(target)) {
        reader.error(value, *reason, "");
        return;
    }
    sync.target = target;
    if (auto source = reader.client_path(value, text->substr(0, colon))) {
        sync.source = std::move(*source);
    }
}

} // namespace

void read_excluded(Reader& reader, const Value& value, std::vector<std::string>& patterns) {
    for (const auto& item : reader.list(value, "a list", "write `exclude: [\"*.log\"]`")) {
        if (auto pattern = reader.line(item, "a pattern as in .gitignore")) {
            patterns.push_back(std::move(*pattern));
        }
    }
}

std::span<const Key<SyncSpec>> sync_keys() {
    return sync_table;
}

void read_sync(Reader& reader, const Value& value, ClusterDraft& draft) {
    for (const auto& item : reader.list(value, "a list", "write `sync: [\".:/workspace\"]`")) {
        SyncSpec sync;
        if (item.node->kind == YamlNode::Kind::map) {
            read_keys(reader, item, sync_keys(), sync);
            for (const std::string_view key : {"from", "to"}) {
                if (item.node->find(key) == nullptr) {
                    reader.error(item, fmt::format("`{}` is missing", key),
                                 "write {from: ., to: /workspace}");
                }
            }
        } else {
            read_short(reader, item, sync);
        }
        if (sync.target.empty()) {
            continue;
        }
        const bool twice =
            std::ranges::any_of(draft.spec.sync, [&](const SyncSpec& s) { return s.target == sync.target; });
        if (twice) {
            reader.error(item, fmt::format("the target {} is given twice", in_quotes(sync.target)),
                         "keep one of them");
        }
        if (!sync.source.empty()) {
            draft.spec.sync.push_back(std::move(sync));
        }
    }
}

void read_collect(Reader& reader, const Value& value, ClusterDraft& draft) {
    for (const auto& item : reader.list(value, "a list", "write `collect: [/workspace/out]`")) {
        if (auto path = read_target(reader, item)) {
            draft.spec.collect.push_back(std::move(*path));
        }
    }
}

} // namespace dockdist
