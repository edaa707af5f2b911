#include "client/check/probe_text.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/json_reader.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace dockdist {
namespace {

const nlohmann::json* find(const nlohmann::json& line, const char* key) {
    if (!line.is_object()) {
        return nullptr;
    }
    const auto value = line.find(key);
    return value == line.end() ? nullptr : &*value;
}

} // namespace

std::string text_of(const nlohmann::json& line, const char* key) {
    const auto* value = find(line, key);
    return value != nullptr && value->is_string() ? printable(value->get_ref<const std::string&>()) : "";
}

double number_of(const nlohmann::json& line, const char* key) {
    const auto* value = find(line, key);
    return value != nullptr && value->is_number() ? value->get<double>() : 0;
}

std::uint64_t count_of(const nlohmann::json& line, const char* key) {
    return static_cast<std::uint64_t>(std::clamp(number_of(line, key), 0.0, 0x1p53));
}

std::vector<std::string> texts_of(const nlohmann::json& line, const char* key) {
    std::vector<std::string> texts;
    const auto* values = find(line, key);
    if (values != nullptr && values->is_array()) {
        for (const auto& value : *values) {
            if (value.is_string()) {
                texts.push_back(printable(value.get_ref<const std::string&>()));
            }
        }
    }
    return texts;
}

std::vector<TransportWords> transports_of(const ProbeRank& rank) {
    std::vector<TransportWords> transports;
    const auto* list = find(rank.result, "transports");
    if (list != nullptr && list->is_array()) {
        for (const auto& one : *list) {
            if (auto kind = text_of(one, "kind"); !kind.empty()) {
                transports.push_back({.kind = std::move(kind), .detail = text_of(one, "detail")});
            }
        }
    }
    return transports;
}

std::string transport_words(const ProbeWorld& world) {
    std::set<std::string> words;
    for (const auto& rank : world.ranks) {
        for (const auto& one : transports_of(rank)) {
            words.insert(one.detail.empty() ? one.kind : one.kind + "/" + one.detail);
        }
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string node_names(const std::vector<NodeName>& nodes, const std::vector<std::size_t>& places) {
    std::string text;
    for (const auto place : places) {
        text += (text.empty() ? "" : ", ") + nodes[place].str();
    }
    return text;
}

Error error_of(const ProbeRank& rank) {
    const auto* told = find(rank.result, "error");
    if (told == nullptr || !told->is_object()) {
        return Error{};
    }
    wire::ObjectReader reader(*told, "a probe's error");
    auto error = wire::read_error(reader);
    error.message = printable(error.message);
    error.hint = printable(error.hint);
    return error;
}

std::uint64_t wrong_elements(const ProbeRank& rank) {
    std::uint64_t wrong = 0;
    for (const auto& line : rank.measurements) {
        wrong += count_of(line, "wrong");
    }
    return wrong;
}

} // namespace dockdist
