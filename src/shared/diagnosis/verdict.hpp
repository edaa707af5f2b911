// Why ranks that stand still do so: from what each is doing, who keeps the others waiting. Pure.
//
// A verdict has a positive reason, or there is none: a rank that waits for nobody while others wait for it;
// or ranks that all wait, and for different things, or all for the same. Who works is slow or busy, and is
// said to be.
#pragma once

#include "shared/diagnosis/cause.hpp"
#include "shared/wire/hang.hpp"
#include "shared/wire/ras_report.hpp"
#include "shared/wire/stacks.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// All that is known of a job at one moment. Each source is a member, and may be empty; judge() alone joins
// them.
struct HangEvidence {
    std::vector<LocatedStack> ranks{};
    std::int64_t writes_ms = 0; // who has written since then, and does not wait for others, is at work
    std::vector<wire::RasReport> ras{};         // of whoever was asked for all
    std::map<std::string, std::string> nodes{}; // by the addresses at which NCCL may name them
    std::map<std::string, std::vector<std::string>> gpu_faults{}; // by node, a sentence each
    std::map<std::string, std::vector<std::string>> unanswered{}; // by node: NodeLook::unanswered
};

struct HangVerdict {
    enum class Kind {
        none,           // nothing that could be said is sure
        behind,         // `ranks` keep the others waiting
        mismatch,       // all wait, at different places: `ranks` are those of the fewer
        same_collective // all wait at one place: for their GPUs, or the network
    };
    Kind kind = Kind::none;
    HangCause cause = HangCause::unknown;
    bool sure = false;                // it hangs, and is neither slow nor busy: worth an alarm
    std::vector<std::size_t> ranks{}; // of those that were given
    std::string where{};              // the line of the first of them
    std::string awaits{};             // the collective that others wait in, and its line
    std::string text{};               // one sentence
    std::string hint{};               // what to do; may be empty
};
std::string_view to_string(HangVerdict::Kind kind); // as in JSON

HangVerdict judge(const HangEvidence& evidence);
HangVerdict judge(const std::vector<LocatedStack>& ranks);

// As a job's parts keep it.
wire::Hang hang_of(const HangVerdict& verdict, const HangEvidence& evidence, int attempt);
// What people read, three lines at most: who and why, what the others do, what to do.
std::vector<std::string> hang_lines(const wire::Hang& hang);

} // namespace dockdist
