#include "shared/wire/job_result.hpp"

#include "shared/wire/frame.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace dockdist::wire {

using nlohmann::json;

namespace {

constexpr int max_code = 255;
constexpr int max_signal = 127;
constexpr std::int64_t longest_ms = 1'000'000'000'000;    // 31 years; fits a clock of nanoseconds
constexpr std::int64_t latest_ms = std::int64_t{1} << 42; // in the year 2109

} // namespace

void read_failure(ObjectReader& reader, JobFailure& failure) {
    reader.read("rank", failure.rank, -1, max_rank);
    reader.read("local_rank", failure.local_rank, -1, max_rank);
    reader.read("code", failure.code, 0, max_code);
    reader.read("signal", failure.signal, 0, max_signal);
    reader.read("oom", failure.oom);
    reader.read_bytes("tail", failure.tail);
    reader.read_bytes("cause", failure.cause);
    reader.read_bytes("advice", failure.advice);
    reader.read("finding", failure.finding);
}

void read_result(ObjectReader& reader, JobResult& result) {
    reader.read("code", result.code, 0, max_code);
    reader.read("ranks", result.ranks, 0, max_rank + 1);
    reader.read("signal", result.signal, 0, max_signal);
    reader.read("stopped", result.stopped);
    reader.read("reason", result.reason);
    read_objects(reader, "failures",
                 [&](ObjectReader& failure) { read_failure(failure, result.failures.emplace_back()); });
    reader.read("attempt", result.attempt, 0, std::numeric_limits<int>::max());
    read_first(reader, result.first);
    reader.read_bytes("left_out", result.left_out);
    read_object(reader, "usage", [&](ObjectReader& usage) { read_fields(usage, result.usage); });
    if (const auto* numbers = reader.array("rank_numbers")) {
        for (const auto& number : *numbers) {
            if (!number.is_number_integer() || number < 0 || number > max_rank) {
                return reader.fail("\"rank_numbers\" must be an array of ranks");
            }
            result.rank_numbers.push_back(number.get<int>());
        }
    }
}

void write_before(json& out, const BeforeStart& before) {
    if (before.waited_ms) {
        out["waited_ms"] = *before.waited_ms;
    }
    if (before.held_ms > 0) {
        out["held_ms"] = before.held_ms;
    }
}

void read_before(ObjectReader& reader, BeforeStart& before) {
    if (reader.any("waited_ms") != nullptr) {
        reader.read("waited_ms", before.waited_ms.emplace(), 0, longest_ms);
    }
    reader.read("held_ms", before.held_ms, 0, longest_ms);
}

void read_first(ObjectReader& reader, std::optional<JobFailure>& first) {
    read_object(reader, "first", [&](ObjectReader& object) {
        JobFailure read;
        read_object(object, "failure", [&](ObjectReader& failure) { read_failure(failure, read); });
        object.read("node", read.node);
        if (!read.node.empty()) {
            first = std::move(read);
        }
    });
}

json first_object(const JobFailure& first) {
    auto without_node = first;
    without_node.node.clear();
    return {{"node", first.node}, {"failure", without_node}};
}

void read_policy(ObjectReader& reader, JobPolicy& policy) {
    read_object(reader, "policy", [&](ObjectReader& object) {
        read_objects(object, "parts", [&](ObjectReader& part) {
            auto& read = policy.parts.emplace_back();
            part.read("node", read.node);
            part.read("hosts_remote_ranks", read.hosts_remote_ranks);
            part.read("ranks", read.ranks, 0, max_rank + 1);
            part.read("lost", read.lost);
        });
        object.read("max_restarts", policy.max_restarts, 0, std::numeric_limits<int>::max());
        object.read("backoff_ms", policy.backoff_ms, 0, longest_ms);
        object.read("grace_ms", policy.grace_ms, 0, longest_ms);
        object.read("stall_ms", policy.stall_ms, 0, longest_ms);
        object.read("stop_stalled", policy.stop_stalled);
        object.read("suspect_ms", policy.suspect_ms, 0, longest_ms);
        object.read("stop_hung", policy.stop_hung);
        object.read("idle_ms", policy.idle_ms, 0, longest_ms);
        object.read("stop_idle", policy.stop_idle);
        object.read("ranks_first", policy.ranks_first);
        object.read_bytes("ready", policy.ready);
        if (const auto* members = object.array("members")) {
            for (const auto& part : *members) {
                if (!part.is_number_integer() || part < 0 || part >= policy.parts.size()) {
                    return object.fail("\"members\" names a part that there is not");
                }
                policy.members.push_back(part.get<int>());
            }
        }
        object.read("min_nodes", policy.min_nodes, 0, std::numeric_limits<int>::max());
        object.read_bytes("relaunch", policy.relaunch);
        if (!policy.relaunch.empty() && policy.members.empty()) {
            object.fail("\"relaunch\" has no \"members\"");
        }
    });
}

void to_json(json& out, const JobPolicy& policy) {
    out = json{{"parts", json::array()},          {"max_restarts", policy.max_restarts},
               {"backoff_ms", policy.backoff_ms}, {"grace_ms", policy.grace_ms},
               {"stall_ms", policy.stall_ms},     {"stop_stalled", policy.stop_stalled}};
    for (const auto& part : policy.parts) {
        out["parts"].push_back(
            {{"node", part.node}, {"hosts_remote_ranks", part.hosts_remote_ranks}, {"ranks", part.ranks}});
        if (part.lost) {
            out["parts"].back()["lost"] = true;
        }
    }
    if (policy.suspect_ms > 0) {
        out["suspect_ms"] = policy.suspect_ms;
        out["stop_hung"] = policy.stop_hung;
    }
    if (policy.idle_ms > 0) {
        out["idle_ms"] = policy.idle_ms;
        out["stop_idle"] = policy.stop_idle;
    }
    if (policy.ranks_first) {
        out["ranks_first"] = true;
    }
    if (!policy.ready.empty()) {
        out["ready"] = bytes_to_json(policy.ready);
    }
    if (!policy.relaunch.empty()) {
        out["members"] = policy.members;
        out["min_nodes"] = policy.min_nodes;
        out["relaunch"] = bytes_to_json(policy.relaunch);
    }
}

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

void to_json(json& out, const JobFailure& failure) {
    out = json{{"rank", failure.rank}, {"local_rank", failure.local_rank},
               {"code", failure.code}, {"signal", failure.signal},
               {"oom", failure.oom},   {"tail", bytes_to_json(failure.tail)}};
    if (!failure.node.empty()) {
        out["node"] = failure.node;
    }
    if (!failure.cause.empty()) {
        out["cause"] = bytes_to_json(failure.cause);
        out["advice"] = bytes_to_json(failure.advice);
    }
    if (!failure.finding.empty()) {
        out["finding"] = failure.finding;
    }
}

void to_json(json& out, const JobResult& result) {
    out = json{{"code", result.code},       {"ranks", result.ranks},   {"signal", result.signal},
               {"stopped", result.stopped}, {"reason", result.reason}, {"failures", result.failures},
               {"attempt", result.attempt}};
    if (result.first) {
        out["first"] = first_object(*result.first);
    }
    if (!result.left_out.empty()) {
        out["left_out"] = bytes_array(result.left_out);
    }
    if (result.usage.duration_ms > 0) {
        out["usage"] = result.usage;
    }
    if (!result.rank_numbers.empty()) {
        out["rank_numbers"] = result.rank_numbers;
    }
}

void to_json(json& out, const JobSummary& summary) {
    out = json{{"job", summary.job},
               {"running", summary.running},
               {"started_ms", summary.started_ms},
               {"duration_ms", summary.duration_ms},
               {"argv", bytes_array(summary.argv)},
               {"result", summary.result},
               {"policy", summary.policy},
               {"detached", summary.detached},
               {"lease_ms", summary.lease_ms},
               {"token", summary.token},
               {"owner", summary.owner},
               {"units", summary.units}};
    if (!summary.ready.empty()) {
        out["ready"] = bytes_to_json(summary.ready);
    }
    if (summary.hang) {
        out["hang"] = *summary.hang;
    }
    write_before(out, summary.before);
}

Result<JobSummary> parse_job_summary(std::string_view line) {
    const auto object = parse_object(line, "a job's summary");
    TRY(object);
    JobSummary summary;
    ObjectReader reader(*object, "a job's summary");
    reader.require("job");
    reader.read("job", summary.job);
    if (!reader.failed() && !is_job_id(summary.job)) { // it becomes the name of a folder
        reader.fail("\"job\" is not a job's name");
    }
    reader.read("running", summary.running);
    reader.read("started_ms", summary.started_ms, 0, latest_ms);
    reader.read("duration_ms", summary.duration_ms, 0, latest_ms); // a clock may be set while a job runs
    reader.read_bytes("argv", summary.argv);
    read_object(reader, "result", [&](ObjectReader& result) { read_result(result, summary.result); });
    read_policy(reader, summary.policy);
    reader.read("detached", summary.detached);
    reader.read("lease_ms", summary.lease_ms, 0, longest_ms);
    reader.read("token", summary.token);
    reader.read("owner", summary.owner);
    reader.read_bytes("ready", summary.ready);
    read_object(reader, "hang", [&](ObjectReader& hang) { read_fields(hang, summary.hang.emplace()); });
    read_before(reader, summary.before);
    read_objects(reader, "units",
                 [&](ObjectReader& unit) { read_fields(unit, summary.units.emplace_back()); });
    if (reader.failed()) {
        return reader.error();
    }
    return summary;
}

Result<JobResult> parse_job_result(std::string_view text) {
    const auto object = parse_object(text, "a job's result");
    TRY(object);
    JobResult result;
    ObjectReader reader(*object, "a job's result");
    read_result(reader, result);
    if (reader.failed()) {
        return reader.error();
    }
    return result;
}

} // namespace dockdist::wire
