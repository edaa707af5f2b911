// Why ranks that stand still do so: from what each is doing, who keeps the others waiting. Pure.
//
// A verdict has a positive reason, or there is none: a rank that waits for nobody while others wait for it;
// or ranks that all wait, and for different things, or all for the same. Who works is slow or busy, and is
// said to be.
#pragma once

#include "shared/wire/stacks.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct LocatedStack {
    std::string node{};
    const wire::RankStack* stack = nullptr;
};

struct HangVerdict {
    enum class Kind {
        none,           // nothing that could be said is sure
        behind,         // `ranks` keep the others waiting
        mismatch,       // all wait, at different places: `ranks` are those of the fewer
        same_collective // all wait at one place: for their GPUs, or the network
    };
    Kind kind = Kind::none;
    std::vector<std::size_t> ranks{}; // of those that were given
    std::string text{};               // one sentence
    std::string hint{};               // what to do; may be empty
};
std::string_view to_string(HangVerdict::Kind kind); // as in JSON

HangVerdict judge(const std::vector<LocatedStack>& ranks);

} // namespace dockdist
