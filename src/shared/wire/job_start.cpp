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
        policy.stall_ms < 0 || policy.idle_ms < 0) {
        reader.fail("\"part\" is none of \"policy\", or a number there is negative");
    }
    if (start.local_rank_at > static_cast<int>(start.rank_command.size())) {
        reader.fail("\"local_rank_at\" is behind the last word of \"rank_command\"");
    }
}

} // namespace

json bytes_object(const std::map<std::string, std::string>& values) {
    json object = json::object();
    for (const auto& [name, value] : values) {
        object[name] = bytes_to_json(value);
    }
    return object;
}

bool has_nul(const std::string& text) {
    return text.find('\0') != std::string::npos;
}

bool are_variables(const std::map<std::string, std::string>& env) {
    return std::ranges::all_of(
        env, [](const auto& entry) { return is_variable_name(entry.first) && !has_nul(entry.second); });
}

void to_json(json& out, const JobStart& start) {
    out = json{{"policy", start.policy},
               {"part", start.part},
               {"stays", start.stays},
               {"argv", bytes_array(start.argv)},
               {"env", bytes_object(start.env)},
               {"env_defaults", bytes_object(start.env_defaults)},
               {"files", bytes_object(start.files)},
               {"rank_command", bytes_array(start.rank_command)},
               {"local_rank_at", start.local_rank_at},
               {"local_rank_option", bytes_to_json(start.local_rank_option)},
               {"rank_secrets", start.rank_secrets},
               {"leaves_servers", start.leaves_servers},
               {"rank_env", json::array()}};
    for (const auto& env : start.rank_env) {
        out["rank_env"].push_back({{"env", bytes_object(env)}});
    }
    write_before(out, start.before);
}

void read_start(ObjectReader& reader, JobStart& start) {
    reader.require("argv");
    read_policy(reader, start.policy);
    reader.read("part", start.part);
    reader.read("stays", start.stays);
    reader.read_bytes("argv", start.argv);
    reader.read_bytes("env", start.env);
    reader.read_bytes("env_defaults", start.env_defaults);
    reader.read_bytes("files", start.files);
    reader.read_bytes("rank_command", start.rank_command);
    reader.read("local_rank_at", start.local_rank_at);
    reader.read_bytes("local_rank_option", start.local_rank_option);
    reader.read("rank_secrets", start.rank_secrets);
    reader.read("leaves_servers", start.leaves_servers);
    read_before(reader, start.before);
    read_objects(reader, "rank_env",
                 [&](ObjectReader& rank) { rank.read_bytes("env", start.rank_env.emplace_back()); });
    if (!reader.failed()) {
        check_start(start, reader);
    }
}

Result<JobStart> parse_job_start(std::string_view line) {
    const auto object = parse_object(line, "the job's start");
    TRY(object);
    JobStart start;
    ObjectReader reader(*object, "the job's start");
    read_start(reader, start);
    if (reader.failed()) {
        return reader.error();
    }
    return start;
}

} // namespace dockdist::wire
