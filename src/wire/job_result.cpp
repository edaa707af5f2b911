#include "wire/job_result.hpp"

#include <algorithm>

namespace dockdist::wire {

using nlohmann::json;

void read_failure(ObjectReader& reader, RankFailure& failure) {
    reader.read("rank", failure.rank);
    reader.read("local_rank", failure.local_rank);
    reader.read("code", failure.code);
    reader.read("signal", failure.signal);
    reader.read("oom", failure.oom);
    reader.read_bytes("tail", failure.tail);
    reader.read("finding", failure.finding);
}

void read_result(ObjectReader& reader, JobResult& result) {
    reader.read("code", result.code);
    reader.read("ranks", result.ranks);
    reader.read("signal", result.signal);
    reader.read("stopped", result.stopped);
    reader.read("reason", result.reason);
    read_objects(reader, "failures",
                 [&](ObjectReader& failure) { read_failure(failure, result.failures.emplace_back()); });
    reader.read("attempt", result.attempt);
    read_first(reader, result.first_node, result.first);
    reader.read_bytes("left_out", result.left_out);
}

void read_first(ObjectReader& reader, std::string& node, RankFailure& first) {
    read_object(reader, "first", [&](ObjectReader& object) {
        object.read("node", node);
        read_object(object, "failure", [&](ObjectReader& failure) { read_failure(failure, first); });
    });
}

json first_object(const std::string& node, const RankFailure& first) {
    return {{"node", node}, {"failure", first}};
}

void read_policy(ObjectReader& reader, JobPolicy& policy) {
    read_object(reader, "policy", [&](ObjectReader& object) {
        read_objects(object, "parts", [&](ObjectReader& part) {
            auto& read = policy.parts.emplace_back();
            part.read("node", read.node);
            part.read("hosts_remote_ranks", read.hosts_remote_ranks);
            part.read("ranks", read.ranks);
            part.read("lost", read.lost);
        });
        object.read("max_restarts", policy.max_restarts);
        object.read("backoff_ms", policy.backoff_ms);
        object.read("grace_ms", policy.grace_ms);
        object.read("stall_ms", policy.stall_ms);
        object.read("stop_stalled", policy.stop_stalled);
        if (const auto* members = object.array("members")) {
            for (const auto& part : *members) {
                if (!part.is_number_integer() || part < 0 || part >= policy.parts.size()) {
                    return object.fail("\"members\" names a part that there is not");
                }
                policy.members.push_back(part.get<int>());
            }
        }
        object.read("min_nodes", policy.min_nodes);
        object.read_bytes("relaunch", policy.relaunch);
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

std::vector<std::string> lost_nodes(const JobPolicy& policy) {
    std::vector<std::string> nodes;
    for (const auto& part : policy.parts) {
        if (part.lost) {
            nodes.push_back(part.node);
        }
    }
    return nodes;
}

void to_json(json& out, const RankFailure& failure) {
    out = json{{"rank", failure.rank}, {"local_rank", failure.local_rank},
               {"code", failure.code}, {"signal", failure.signal},
               {"oom", failure.oom},   {"tail", bytes_to_json(failure.tail)}};
    if (!failure.finding.empty()) {
        out["finding"] = failure.finding;
    }
}

void to_json(json& out, const JobResult& result) {
    out = json{{"code", result.code},       {"ranks", result.ranks},   {"signal", result.signal},
               {"stopped", result.stopped}, {"reason", result.reason}, {"failures", result.failures},
               {"attempt", result.attempt}};
    if (!result.first_node.empty()) {
        out["first"] = first_object(result.first_node, result.first);
    }
    if (!result.left_out.empty()) {
        out["left_out"] = bytes_array(result.left_out);
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
               {"token", summary.token}};
}

Result<JobSummary> parse_job_summary(std::string_view line) {
    const auto object = parse_object(line, "a job's summary");
    if (!object) {
        return object.error();
    }
    JobSummary summary;
    ObjectReader reader(*object, "a job's summary");
    reader.require("job");
    reader.read("job", summary.job);
    reader.read("running", summary.running);
    reader.read("started_ms", summary.started_ms);
    reader.read("duration_ms", summary.duration_ms);
    reader.read_bytes("argv", summary.argv);
    read_object(reader, "result", [&](ObjectReader& result) { read_result(result, summary.result); });
    read_policy(reader, summary.policy);
    reader.read("detached", summary.detached);
    reader.read("lease_ms", summary.lease_ms);
    reader.read("token", summary.token);
    if (reader.failed()) {
        return reader.error();
    }
    return summary;
}

Result<JobResult> parse_job_result(std::string_view text) {
    const auto object = parse_object(text, "a job's result");
    if (!object) {
        return object.error();
    }
    JobResult result;
    ObjectReader reader(*object, "a job's result");
    read_result(reader, result);
    if (reader.failed()) {
        return reader.error();
    }
    return result;
}

} // namespace dockdist::wire
