// Whether the ranks of a job that has ended well are those that it was to have, each once: launchers are
// known to end with 0 where they could not start a thing, and where every node has run a job of its own.
#include "shared/core/exit_codes.hpp"
#include "shared/job_state/job_state_machine.hpp"
#include "shared/job_state/job_text.hpp"

#include <algorithm>
#include <map>

namespace dockdist {

int JobStateMachine::wanted_ranks() const {
    int wanted = 0;
    for (const auto& part : settings_.parts) {
        wanted += part.ranks;
    }
    return wanted;
}

bool JobStateMachine::has_ended_well() const {
    const auto part = coordinator();
    return !failure_ && interrupts_ == 0 && !part_missing_ && alone(part) && parts_[part].ended;
}

int JobStateMachine::missing_ranks() const {
    if (!has_ended_well()) {
        return 0;
    }
    int begun = 0;
    for (const auto& part : parts_) {
        begun += part.ranks;
    }
    return std::max(wanted_ranks() - begun, 0);
}

std::optional<wire::JobFailure> JobStateMachine::doubled_rank() const {
    std::map<int, std::size_t> seen;
    for (std::size_t i = 0; has_ended_well() && i < parts_.size(); ++i) {
        for (const int rank : settings_.parts[i].lost ? std::vector<int>{} : parts_[i].rank_numbers) {
            if (const auto [before, is_first] = seen.emplace(rank, i); !is_first) {
                const auto& nodes = settings_.parts;
                return wire::JobFailure{
                    .node = nodes[i].node,
                    .rank = rank,
                    .code = exit_codes::own_failure,
                    .finding = second_rank_text(rank, {nodes[before->second].node, nodes[i].node})};
            }
        }
    }
    return std::nullopt;
}

} // namespace dockdist
