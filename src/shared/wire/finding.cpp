#include "shared/wire/finding.hpp"

#include "shared/wire/fields.hpp"

namespace dockdist::wire {
namespace {

using Kind = Finding::Kind;

constexpr Words<Kind, 8> finding_words{{{Kind::idle, "idle"},
                                        {Kind::low_power, "low_power"},
                                        {Kind::thermal, "thermal"},
                                        {Kind::hw_slowdown, "hw_slowdown"},
                                        {Kind::slow_rank, "slow_rank"},
                                        {Kind::memory_grows, "memory_grows"},
                                        {Kind::disk_full, "disk_full"},
                                        {Kind::no_figures, "no_figures"}}};
constexpr std::size_t longest_words = 256;
constexpr std::int64_t longest_holding_ms = std::int64_t{1} << 42;

} // namespace

const char* name_of(Kind kind) {
    return word_of(finding_words, kind).data();
}

void fields_of(auto& fields, Of<Finding> auto& finding) {
    fields.required("kind", named_if_known(finding.kind, finding_words));
    fields.when(finding.gpu >= 0, "gpu", finding.gpu, -1, any_int);
    fields.when(finding.rank >= 0, "rank", finding.rank, -1, any_int);
    fields("for_ms", finding.for_ms, 0, longest_holding_ms);
    fields.omit_empty("disk", finding.disk, longest_words);
    fields("about", finding.about, longest_words);
}

void to_json(nlohmann::json& json, const Finding& finding) {
    json = listed_object(finding);
}

bool read_fields(ObjectReader& reader, Finding& finding) {
    std::string word;
    reader.require("kind");
    reader.read("kind", word);
    if (!meant_by(finding_words, word)) {
        return false; // of a later dockdist
    }
    read_listed(reader, finding);
    return true;
}

} // namespace dockdist::wire
