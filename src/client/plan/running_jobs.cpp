#include "client/plan/running_jobs.hpp"

#include "shared/core/host_list.hpp"
#include "shared/core/units.hpp"
#include "shared/gpu/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

constexpr std::size_t most_nodes = 8; // that are named

std::string gpus_of(const RunningJob::Part& part) {
    std::string text;
    for (const auto& unit : part.units) {
        if (!is_slot(unit)) {
            text += (text.empty() ? " (GPU " : ", ") + std::to_string(unit.index);
        }
    }
    return text.empty() ? text : text + ")";
}

} // namespace

std::string to_text(const RunningJob& job) {
    std::vector<std::string> nodes;
    for (const auto& part : job.parts) {
        nodes.push_back(part.node.str() + gpus_of(part));
    }
    return fmt::format("{}running for {} on {}", job.owner.empty() ? "" : job.owner + "'s, ",
                       format_age(std::chrono::seconds(job.age_ms / 1000)), first_names(nodes, most_nodes));
}

Error would_end(const RunningJob& job, std::string_view what) {
    return {ErrorKind::conflict, job.job.str(), fmt::format("{}: {}", to_text(job), what),
            fmt::format("wait until it is over (`dockdist wait {}`), or add --stop-jobs", job.job.str())};
}

Error paused_node(const NodeName& node) {
    return {ErrorKind::node, node.str(), "its container is paused", ""};
}

Error may_end_jobs(Error silence) {
    silence.message = "it is not known whether jobs run there: " + silence.message;
    const bool has_reason = silence.kind == ErrorKind::engine && !silence.hint.empty();
    silence.hint =
        (has_reason ? silence.hint : "try again") + "; or add --stop-jobs, which goes on without knowing";
    return silence;
}

Error goes_on_unasked(Error silence) {
    silence.message = "whatever runs there ends without asking: " + silence.message;
    silence.hint.clear();
    return silence;
}

} // namespace dockdist
