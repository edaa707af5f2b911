// idle: after what time a job whose GPUs do nothing is told of, or stopped.
#include "client/spec/sections.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <array>

namespace dockdist {
namespace {

constexpr std::array<std::string_view, 2> then_words{"warn", "stop"};

void read_after(Reader& reader, const Value& value, IdleSpec& idle) {
    const auto written = reader.text(value, "a duration");
    if (!written) {
        return;
    }
    const auto duration = parse_duration(*written);
    if (!duration || duration->count() == 0) {
        reader.error(value,
                     fmt::format("expected a duration above zero, found {}",
                                 written->empty() ? "empty text" : in_quotes(*written)),
                     "a duration is written `30m`, `90s` or `1h30m`");
        return;
    }
    idle.after = *duration;
}

constexpr std::array idle_table{
    Key<IdleSpec>{"after", read_after},
    Key<IdleSpec>{"then",
                  [](Reader& reader, const Value& value, IdleSpec& idle) {
                      idle.stop = reader.word(value, then_words) == std::size_t{1};
                  },
                  then_words},
};

} // namespace

std::span<const Key<IdleSpec>> idle_keys() {
    return idle_table;
}

void read_idle(Reader& reader, const Value& value, ClusterDraft& draft) {
    if (value.node->kind != YamlNode::Kind::map) {
        return read_after(reader, value, draft.spec.idle);
    }
    read_keys(reader, value, idle_keys(), draft.spec.idle);
    if (value.node->find("after") == nullptr) {
        reader.error(value, "`after` is missing", "write `idle: {after: 30m, then: stop}`");
    }
}

} // namespace dockdist
