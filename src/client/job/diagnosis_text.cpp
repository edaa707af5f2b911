#include "client/job/diagnosis_text.hpp"

#include "shared/core/units.hpp"
#include "shared/diagnosis/cause.hpp"
#include "shared/diagnosis/verdict.hpp"
#include "shared/job_state/stack_text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

nlohmann::json or_null(const std::string& text) {
    return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

std::string taken_text(const wire::RankStack& stack) {
    const auto io = stack.io_bytes < 0
                        ? std::string()
                        : fmt::format(", {} read and written",
                                      format_size(Bytes(static_cast<std::uint64_t>(stack.io_bytes))));
    return fmt::format("between two looks {} % CPU with those below it{}{}", stack.tree_cpu_percent, io,
                       stack.moves ? "; it moved" : "");
}

} // namespace

std::string hang_text(const wire::Hang& hang) {
    std::string text;
    for (const auto& line : hang_lines(hang)) {
        text += (text.empty() ? "" : "\n") + line;
    }
    return text;
}

nlohmann::json hang_json(const std::optional<wire::Hang>& hang) {
    if (!hang) {
        return nullptr;
    }
    return {{"attempt", hang->attempt + 1},
            {"cause", hang->cause},
            {"node", or_null(hang->node)},
            {"rank", hang->rank < 0 ? nlohmann::json() : nlohmann::json(hang->rank)},
            {"where", or_null(hang->where)},
            {"awaits", or_null(hang->awaits)},
            {"restart_helps", hang->restart_helps},
            {"text", hang->text},
            {"hint", or_null(hang->hint)}};
}

std::string evidence_text(const std::vector<PlacedStack>& ranks) {
    std::string text;
    for (const auto& [node, stack, address] : ranks) {
        const auto who = stack.rank < 0 ? std::string("the command") : fmt::format("rank {}", stack.rank);
        text += fmt::format("{} on {}: {}\n  {}\n", who, node.str(), process_text(stack), taken_text(stack));
        if (!stack.reads.empty()) {
            text += fmt::format("  waits for the bytes of {}\n", stack.reads);
        }
        for (const auto& child : stack.children) {
            const auto place = place_of({.frames = child.frames});
            text += fmt::format("  its process {} is {}{}{}\n", child.pid, child.state,
                                child.waits_in.empty() ? "" : " in " + child.waits_in,
                                child.frames.empty() ? "" : ": " + frame_text(child.frames[place.frame]));
        }
    }
    return text;
}

nlohmann::json evidence_json(const std::vector<PlacedStack>& ranks) {
    auto all = nlohmann::json::array();
    for (const auto& [node, stack, address] : ranks) {
        auto json = wire::rank_stack_object(stack);
        json["node"] = node.str();
        all.push_back(std::move(json));
    }
    return all;
}

} // namespace dockdist
