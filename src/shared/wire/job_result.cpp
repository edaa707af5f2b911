#include "shared/wire/job_result.hpp"

#include "shared/wire/frame.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace dockdist::wire {

using nlohmann::json;

namespace {

constexpr int max_code = 255;
constexpr int max_signal = 127;
constexpr std::int64_t longest_ms = 1'000'000'000'000;    // 31 years; fits a clock of nanoseconds
constexpr std::int64_t latest_ms = std::int64_t{1} << 42; // in the year 2109

void leave_unread(ObjectReader& /*reader*/, const char* /*key*/, std::string& /*text*/) {}

} // namespace

// Where a failure was is told by whoever knows its node; a node's own word of that is not read.
void fields_of(auto& fields, Of<JobFailure> auto& failure) {
    fields.omit_empty("node", read_by(failure.node, leave_unread));
    fields("rank", failure.rank, -1, max_rank);
    fields("local_rank", failure.local_rank, -1, max_rank);
    fields("code", failure.code, 0, max_code);
    fields("signal", failure.signal, 0, max_signal);
    fields("oom", failure.oom);
    fields("tail", bytes_of(failure.tail));
    fields.omit_empty("cause", bytes_of(failure.cause));
    fields.when(!failure.cause.empty(), "advice", bytes_of(failure.advice));
    fields.omit_empty("finding", failure.finding);
}
DEFINE_BY_FIELDS(JobFailure)

json first_object(const std::optional<JobFailure>& first) {
    auto without_node = *first;
    without_node.node.clear();
    return {{"node", first->node}, {"failure", without_node}};
}

void read_first(ObjectReader& reader, const char* key, std::optional<JobFailure>& first) {
    read_object(reader, key, [&](ObjectReader& object) {
        JobFailure read;
        read_field(object, "failure", read);
        object.read("node", read.node);
        if (!read.node.empty()) {
            first = std::move(read);
        }
    });
}

void fields_of(auto& fields, Of<JobResult> auto& result) {
    fields("code", result.code, 0, max_code);
    fields("ranks", result.ranks, 0, max_rank + 1);
    fields("signal", result.signal, 0, max_signal);
    fields("stopped", result.stopped);
    fields("reason", result.reason);
    fields("failures", result.failures);
    fields("attempt", result.attempt, 0, any_int);
    fields.when(result.first.has_value(), "first", first_of(result.first));
    fields.omit_empty("left_out", bytes_of(result.left_out));
    fields.when(result.usage.duration_ms > 0, "usage", result.usage);
    fields.omit_empty("rank_numbers", result.rank_numbers, 0, max_rank, "ranks");
}
DEFINE_BY_FIELDS(JobResult)

void fields_of(auto& fields, Of<BeforeStart> auto& before) {
    fields("waited_ms", before.waited_ms, 0, longest_ms);
    fields.omit_empty("held_ms", before.held_ms, 0, longest_ms);
}
DEFINE_BY_FIELDS(BeforeStart)

void fields_of(auto& fields, Of<PartPolicy> auto& part) {
    fields("node", part.node);
    fields("hosts_remote_ranks", part.hosts_remote_ranks);
    fields("ranks", part.ranks, 0, max_rank + 1);
    fields.omit_empty("lost", part.lost);
}

void fields_of(auto& fields, Of<JobPolicy> auto& policy) {
    fields("parts", policy.parts);
    fields("max_restarts", policy.max_restarts, 0, any_int);
    fields("backoff_ms", policy.backoff_ms, 0, longest_ms);
    fields("grace_ms", policy.grace_ms, 0, longest_ms);
    fields("stall_ms", policy.stall_ms, 0, longest_ms);
    fields("stop_stalled", policy.stop_stalled);
    fields.omit_empty("suspect_ms", policy.suspect_ms, 0, longest_ms);
    fields.when(policy.suspect_ms > 0, "stop_hung", policy.stop_hung);
    fields.omit_empty("idle_ms", policy.idle_ms, 0, longest_ms);
    fields.when(policy.idle_ms > 0, "stop_idle", policy.stop_idle);
    fields.omit_empty("ranks_first", policy.ranks_first);
    fields.omit_empty("ready", bytes_of(policy.ready));
    const bool goes_on = !policy.relaunch.empty();
    fields.when(goes_on, "members", policy.members, 0, static_cast<int>(policy.parts.size()) - 1, "parts");
    fields.when(goes_on, "min_nodes", policy.min_nodes, 0, any_int);
    fields.omit_empty("relaunch", bytes_of(policy.relaunch));
    fields.check(policy.relaunch.empty() || !policy.members.empty(), "\"relaunch\" has no \"members\"");
}
DEFINE_BY_FIELDS(JobPolicy)

std::size_t coordinator_part(const JobPolicy& policy) {
    const auto found = std::ranges::find(policy.parts, false, &PartPolicy::lost);
    return found == policy.parts.end() ? 0 : static_cast<std::size_t>(found - policy.parts.begin());
}

std::size_t first_part(const JobPolicy& policy) {
    return policy.members.empty() ? 0 : static_cast<std::size_t>(policy.members.front());
}

std::map<std::string, int> command_ranks(const JobPolicy& policy) {
    auto members = policy.members;
    if (members.empty()) {
        members.resize(policy.parts.size());
        std::iota(members.begin(), members.end(), 0);
    }
    std::map<std::string, int> ranks;
    for (std::size_t i = 0; i < members.size(); ++i) {
        const auto& part = policy.parts[static_cast<std::size_t>(members[i])];
        if (part.ranks > 0 || part.hosts_remote_ranks) { // a launcher starts them
            return {};
        }
        ranks[part.node] = static_cast<int>(i);
    }
    return ranks;
}

std::vector<std::string> lost_nodes(const JobPolicy& policy) {
    std::vector<std::string> nodes;
    for (const auto& part : policy.parts) {
        if (part.lost) {
            nodes.push_back(part.node);
        }
    }
    return nodes;
}

void fields_of(auto& fields, Of<JobSummary> auto& summary) {
    fields.required("job", summary.job);
    fields.check(is_job_id(summary.job), "\"job\" is not a job's name"); // it becomes the name of a folder
    fields("running", summary.running);
    fields("started_ms", summary.started_ms, 0, latest_ms);
    fields("duration_ms", summary.duration_ms, 0, latest_ms); // a clock may be set while a job runs
    fields("argv", bytes_of(summary.argv));
    fields("result", summary.result);
    fields("policy", summary.policy);
    fields("detached", summary.detached);
    fields("lease_ms", summary.lease_ms, 0, longest_ms);
    fields("token", summary.token);
    fields("owner", summary.owner);
    fields.omit_empty("ready", bytes_of(summary.ready));
    fields("hang", summary.hang);
    fields.all_of(summary.before);
    fields("units", summary.units);
}

void to_json(json& out, const JobSummary& summary) {
    out = listed_object(summary);
}

Result<JobSummary> parse_job_summary(std::string_view line) {
    return parse<JobSummary>(line, "a job's summary");
}

Result<JobResult> parse_job_result(std::string_view text) {
    return parse<JobResult>(text, "a job's result");
}

} // namespace dockdist::wire
