#include "client/spec/sections.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

// Docker's known_ulimits (docker/go-units ulimit.go).
constexpr std::array<std::string_view, 15> known_ulimits{
    "core",   "cpu",   "data", "fsize",  "locks",  "memlock",    "msgqueue", "nice",
    "nofile", "nproc", "rss",  "rtprio", "rttime", "sigpending", "stack"};
constexpr std::array<std::string_view, 7> in_bytes{"core",     "data", "fsize", "memlock",
                                                   "msgqueue", "rss",  "stack"};

std::string_view limit_of(const Value& value) {
    const auto dot = value.path.rfind("ulimits.");
    const auto rest = std::string_view(value.path).substr(dot == std::string::npos ? 0 : dot + 8);
    return rest.substr(0, rest.find('.'));
}

constexpr std::string_view automatic = "auto"; // of memlock

std::optional<std::int64_t> to_limit(Reader& reader, const Value& value,
                                     const std::optional<std::string>& text) {
    if (!text) {
        return std::nullopt;
    }
    if (*text == "unlimited" || *text == "-1") {
        return -1;
    }
    const bool bytes = std::ranges::find(in_bytes, limit_of(value)) != in_bytes.end();
    if (bytes) {
        if (const auto size = parse_size(*text)) {
            return static_cast<std::int64_t>(size->count);
        }
    } else if (const auto number = whole_number<std::int64_t>(*text); number && *number >= 0) {
        return number;
    }
    static constexpr std::array<std::string_view, 1> words{"unlimited"};
    const auto meant = nearest(*text, words);
    reader.error(value,
                 fmt::format("expected a limit, found {}", text->empty() ? "empty text" : in_quotes(*text)),
                 !meant.empty() ? "did you mean `unlimited`?"
                 : bytes        ? "write `unlimited`, a size like `64m`, or a number of bytes"
                                : "write `unlimited` or a number");
    return std::nullopt;
}

std::optional<std::int64_t> read_limit(Reader& reader, const Value& value) {
    return to_limit(reader, value, reader.text(value, "a limit"));
}

// One value for both.
std::optional<UlimitSpec> read_both(Reader& reader, const Value& value) {
    const auto text = reader.text(value, "a limit");
    if (text == automatic && limit_of(value) == "memlock") {
        return UlimitSpec{.soft = -1, .hard = -1, .automatic = true};
    }
    const auto limit = to_limit(reader, value, text);
    return limit ? std::optional(UlimitSpec{.soft = *limit, .hard = *limit}) : std::nullopt;
}

void read_soft(Reader& reader, const Value& value, UlimitSpec& limit) {
    limit.soft = read_limit(reader, value).value_or(limit.soft);
}

void read_hard(Reader& reader, const Value& value, UlimitSpec& limit) {
    limit.hard = read_limit(reader, value).value_or(limit.hard);
}

constexpr std::array ulimit_table{Key<UlimitSpec>{"soft", read_soft}, Key<UlimitSpec>{"hard", read_hard}};

bool exceeds(std::int64_t soft, std::int64_t hard) {
    return hard != -1 && (soft == -1 || soft > hard);
}

} // namespace

std::span<const Key<UlimitSpec>> ulimit_keys() {
    return ulimit_table;
}

Words ulimit_names() {
    return known_ulimits;
}

void read_ulimits(Reader& reader, const Value& value, ContainerSpec& container) {
    if (!reader.is_map(value, "a map", "write `ulimits: {memlock: unlimited}`")) {
        return;
    }
    for (const auto& entry : value.node->entries) {
        const auto at = value.member(entry);
        if (std::ranges::find(known_ulimits, entry.key) == known_ulimits.end()) {
            reader.unknown(value, entry.place, entry.key, known_ulimits);
        } else if (at.node->kind != YamlNode::Kind::map) {
            if (const auto limit = read_both(reader, at)) {
                container.ulimits[entry.key] = *limit;
            }
        } else {
            UlimitSpec limit;
            read_keys(reader, at, ulimit_keys(), limit);
            const auto* soft = at.node->find("soft");
            const auto* hard = at.node->find("hard");
            if (soft == nullptr || hard == nullptr) {
                reader.error(at, fmt::format("`{}` is missing", soft == nullptr ? "soft" : "hard"),
                             "write {soft: …, hard: …}, or one value for both");
            } else if (exceeds(limit.soft, limit.hard)) {
                reader.error(at.member(*soft), "the soft limit is above the hard one",
                             "raise `hard`, or lower `soft`");
            }
            container.ulimits[entry.key] = limit;
        }
    }
}

} // namespace dockdist
