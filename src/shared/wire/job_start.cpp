#include "shared/wire/job_result.hpp"

#include <algorithm>

namespace dockdist::wire {

using nlohmann::json;

namespace {

bool is_variable_name(const std::string& name) {
    return !name.empty() && name.find('=') == std::string::npos && !has_nul(name);
}

void check_start(const JobStart& start, ObjectReader& reader) {
    if (!start.local_rank_option.starts_with('-') || has_nul(start.local_rank_option)) {
        reader.fail("\"local_rank_option\" is not an option");
    }
    for (const auto* words : {&start.argv, &start.rank_command}) {
        if (!words->empty() && words->front().empty()) {
            reader.fail("\"argv\" or \"rank_command\" names no program");
        }
        if (std::ranges::any_of(*words, has_nul)) {
            reader.fail("\"argv\" or \"rank_command\" holds a NUL byte");
        }
    }
    if (!are_variables(start.env) || !are_variables(start.env_defaults)) {
        reader.fail("\"env\": a name is empty or has '=', or contains a NUL byte");
    }
    if (!std::ranges::all_of(start.rank_env, are_variables)) {
        reader.fail("\"rank_env\": a name is empty or has '=', or contains a NUL byte");
    }
    for (const auto& [path, content] : start.files) {
        if (path.empty() || path.front() != '/' || has_nul(path)) {
            reader.fail("\"files\": a path is not absolute");
        }
    }
    const auto& policy = start.policy;
    if (start.part < 0 || (start.part != 0 && static_cast<std::size_t>(start.part) >= policy.parts.size()) ||
        policy.max_restarts < 0 || policy.min_nodes < 0 || policy.backoff_ms < 0 || policy.grace_ms < 0 ||
        policy.stall_ms < 0 || policy.suspect_ms < 0 || policy.idle_ms < 0) {
        reader.fail("\"part\" is none of \"policy\", or a number there is negative");
    }
    if (start.local_rank_at > static_cast<int>(start.rank_command.size())) {
        reader.fail("\"local_rank_at\" is behind the last word of \"rank_command\"");
    }
}

} // namespace

bool has_nul(const std::string& text) {
    return text.find('\0') != std::string::npos;
}

bool are_variables(const std::map<std::string, std::string>& env) {
    return std::ranges::all_of(
        env, [](const auto& entry) { return is_variable_name(entry.first) && !has_nul(entry.second); });
}

void fields_of(auto& fields, Of<JobStart> auto& start) {
    fields("policy", start.policy);
    fields("part", start.part);
    fields("stays", start.stays);
    fields.required("argv", bytes_of(start.argv));
    fields("env", bytes_of(start.env));
    fields("env_defaults", bytes_of(start.env_defaults));
    fields("files", bytes_of(start.files));
    fields("rank_command", bytes_of(start.rank_command));
    fields("local_rank_at", start.local_rank_at);
    fields("local_rank_option", bytes_of(start.local_rank_option));
    fields("rank_secrets", start.rank_secrets);
    fields("leaves_servers", start.leaves_servers);
    fields.all_of(start.before);
    fields("rank_env", env_objects(start.rank_env));
    fields.reading([&](auto& reader) { check_start(start, reader); });
}
DEFINE_BY_FIELDS(JobStart)

Result<JobStart> parse_job_start(std::string_view line) {
    return parse<JobStart>(line, "the job's start");
}

} // namespace dockdist::wire
