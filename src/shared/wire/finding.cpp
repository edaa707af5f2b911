#include "shared/wire/finding.hpp"

#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace dockdist::wire {
namespace {

using Kind = Finding::Kind;

constexpr std::array<std::pair<Kind, const char*>, 8> finding_kinds{{{Kind::idle, "idle"},
                                                                     {Kind::low_power, "low_power"},
                                                                     {Kind::thermal, "thermal"},
                                                                     {Kind::hw_slowdown, "hw_slowdown"},
                                                                     {Kind::slow_rank, "slow_rank"},
                                                                     {Kind::memory_grows, "memory_grows"},
                                                                     {Kind::disk_full, "disk_full"},
                                                                     {Kind::no_figures, "no_figures"}}};
constexpr std::size_t longest_words = 256;
constexpr std::int64_t longest_holding_ms = std::int64_t{1} << 42;

void read_sentence(ObjectReader& reader, const char* key, std::string& words) {
    reader.read(key, words);
    if (words.size() > longest_words) {
        reader.fail("\"" + std::string(key) + "\" is too long");
    }
}

} // namespace

const char* name_of(Kind kind) {
    return finding_kinds.at(static_cast<std::size_t>(kind)).second;
}

void to_json(nlohmann::json& json, const Finding& finding) {
    json = {{"kind", name_of(finding.kind)}, {"about", finding.about}, {"for_ms", finding.for_ms}};
    if (finding.gpu >= 0) {
        json["gpu"] = finding.gpu;
    }
    if (finding.rank >= 0) {
        json["rank"] = finding.rank;
    }
    if (!finding.disk.empty()) {
        json["disk"] = finding.disk;
    }
}

bool read_fields(ObjectReader& reader, Finding& finding) {
    std::string name;
    reader.require("kind");
    reader.read("kind", name);
    const auto* const kind = std::ranges::find_if(
        finding_kinds, [&](const auto& known) { return std::string_view(known.second) == name; });
    if (kind == finding_kinds.end()) {
        return false;
    }
    finding.kind = kind->first;
    reader.read("gpu", finding.gpu, -1, std::numeric_limits<int>::max());
    reader.read("rank", finding.rank, -1, std::numeric_limits<int>::max());
    reader.read("for_ms", finding.for_ms, 0, longest_holding_ms);
    read_sentence(reader, "disk", finding.disk);
    read_sentence(reader, "about", finding.about);
    return true;
}

} // namespace dockdist::wire
