#include "client/plan/plan.hpp"

namespace dockdist {

void leave_out(Plan& plan, const std::vector<bool>& hosts) {
    const auto is_left_out = [&hosts](const auto& operation) { return hosts[operation.host]; };
    std::erase_if(plan.pulls, is_left_out);
    std::erase_if(plan.sends, is_left_out);
    std::erase_if(plan.uploads, is_left_out);
    std::erase_if(plan.removals, is_left_out);
    std::erase_if(plan.renames, is_left_out);
    std::erase_if(plan.creates, is_left_out);
    std::erase_if(plan.starts, is_left_out);
    std::erase_if(plan.joins, is_left_out);
}

} // namespace dockdist
