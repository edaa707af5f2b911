#include "wire/job.hpp"

#include "wire/json_reader.hpp"

#include <algorithm>

namespace dockdist::wire {
namespace {

using nlohmann::json;

json bytes_array(const std::vector<std::string>& values) {
    json array = json::array();
    for (const auto& value : values) {
        array.push_back(bytes_to_json(value));
    }
    return array;
}

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

bool is_variable_name(const std::string& name) {
    return !name.empty() && name.find('=') == std::string::npos && !has_nul(name);
}

void check_request(const JobRequest& request, ObjectReader& reader) {
    if (!is_job_id(request.job)) {
        reader.fail("\"job\" must be 1 to 64 letters, digits, '-', '_' or '.', and not begin with '.'");
    }
    if (request.argv.empty() || request.argv.front().empty()) {
        reader.fail("\"argv\" names no program");
    }
    if (std::ranges::any_of(request.argv, has_nul)) {
        reader.fail("\"argv\" holds a NUL byte");
    }
    for (const auto& [name, value] : request.env) {
        if (!is_variable_name(name) || has_nul(value)) {
            reader.fail("\"env\": a name is empty or has '=', or a NUL byte stands in it");
        }
    }
    for (const auto& [path, content] : request.files) {
        if (path.empty() || path.front() != '/' || has_nul(path)) {
            reader.fail("\"files\": a path is not absolute");
        }
    }
    if (has_nul(request.workdir) || has_nul(request.user)) {
        reader.fail("\"workdir\" or \"user\" holds a NUL byte");
    }
    if (request.lease_ms < 0 || request.grace_ms < 0 || request.ranks < 0 || request.first_rank < 0) {
        reader.fail("\"lease_ms\", \"grace_ms\", \"ranks\" and \"first_rank\" must not be negative");
    }
}

void read_failure(ObjectReader& reader, RankFailure& failure) {
    reader.read("rank", failure.rank);
    reader.read("local_rank", failure.local_rank);
    reader.read("code", failure.code);
    reader.read("signal", failure.signal);
    reader.read("oom", failure.oom);
    reader.read_bytes("tail", failure.tail);
}

void read_result(ObjectReader& reader, JobResult& result) {
    reader.read("code", result.code);
    reader.read("signal", result.signal);
    reader.read("stopped", result.stopped);
    reader.read("reason", result.reason);
    if (const auto* failures = reader.array("failures")) {
        for (const auto& item : *failures) {
            ObjectReader failure(item, "a failure");
            if (!item.is_object()) {
                return reader.fail("\"failures\" must be an array of objects");
            }
            read_failure(failure, result.failures.emplace_back());
            if (failure.failed()) {
                return reader.fail(failure.error().message);
            }
        }
    }
}

} // namespace

bool is_job_id(std::string_view text) {
    return !text.empty() && text.size() <= 64 && text.front() != '.' && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_' || c == '.';
    });
}

void to_json(json& out, const JobRequest& request) {
    out = json{{"job", request.job},
               {"argv", bytes_array(request.argv)},
               {"env", bytes_object(request.env)},
               {"unset", bytes_array(request.unset)},
               {"workdir", bytes_to_json(request.workdir)},
               {"user", request.user},
               {"files", bytes_object(request.files)},
               {"ranks", request.ranks},
               {"first_rank", request.first_rank},
               {"lease_ms", request.lease_ms},
               {"grace_ms", request.grace_ms}};
}

void to_json(json& out, const RankFailure& failure) {
    out = json{{"rank", failure.rank}, {"local_rank", failure.local_rank},
               {"code", failure.code}, {"signal", failure.signal},
               {"oom", failure.oom},   {"tail", bytes_to_json(failure.tail)}};
}

void to_json(json& out, const JobResult& result) {
    out = json{{"code", result.code},
               {"signal", result.signal},
               {"stopped", result.stopped},
               {"reason", result.reason},
               {"failures", result.failures}};
}

void to_json(json& out, const JobSummary& summary) {
    out = json{{"job", summary.job},
               {"running", summary.running},
               {"started_ms", summary.started_ms},
               {"argv", bytes_array(summary.argv)},
               {"result", summary.result}};
}

Result<JobRequest> parse_job_request(std::string_view line) {
    const auto object = parse_object(line, "the job request");
    if (!object) {
        return object.error();
    }
    JobRequest request;
    ObjectReader reader(*object, "the job request");
    reader.require("job");
    reader.require("argv");
    reader.read("job", request.job);
    reader.read_bytes("argv", request.argv);
    reader.read_bytes("env", request.env);
    reader.read_bytes("unset", request.unset);
    reader.read_bytes("workdir", request.workdir);
    reader.read("user", request.user);
    reader.read_bytes("files", request.files);
    reader.read("ranks", request.ranks);
    reader.read("first_rank", request.first_rank);
    reader.read("lease_ms", request.lease_ms);
    reader.read("grace_ms", request.grace_ms);
    if (!reader.failed()) {
        check_request(request, reader);
    }
    if (reader.failed()) {
        return reader.error();
    }
    return request;
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
    reader.read_bytes("argv", summary.argv);
    if (const auto result = object->find("result"); result != object->end()) {
        ObjectReader nested(*result, "a job's result");
        if (!result->is_object()) {
            reader.fail("\"result\" must be an object");
        } else {
            read_result(nested, summary.result);
        }
        if (nested.failed()) {
            return nested.error();
        }
    }
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

Result<JobEvent> parse_job_event(std::string_view payload) {
    const auto object = parse_object(payload, "a job's event");
    if (!object) {
        return object.error();
    }
    JobEvent event;
    ObjectReader reader(*object, "a job's event");
    std::string type;
    reader.require("type");
    reader.read("type", type);
    if (type == "started") {
        event.type = JobEvent::Type::started;
        reader.read("pid", event.pid);
    } else if (type == "rank_failed") {
        event.type = JobEvent::Type::rank_failed;
        read_failure(reader, event.failure);
    } else if (type == "exited") {
        event.type = JobEvent::Type::exited;
        read_result(reader, event.result);
    } else if (type == "error") {
        event.type = JobEvent::Type::error;
        event.error = read_error(reader);
    } else {
        reader.fail("unknown type \"" + type + "\"");
    }
    if (reader.failed()) {
        return reader.error();
    }
    return event;
}

std::string job_event(const JobEvent& event) {
    json object;
    switch (event.type) {
    case JobEvent::Type::started:
        object = json{{"pid", event.pid}};
        object["type"] = "started";
        break;
    case JobEvent::Type::rank_failed:
        object = event.failure;
        object["type"] = "rank_failed";
        break;
    case JobEvent::Type::exited:
        object = event.result;
        object["type"] = "exited";
        break;
    case JobEvent::Type::error:
        object = error_to_json(event.error);
        object["type"] = "error";
        break;
    }
    return dump(object);
}

Result<JobCommand> parse_job_command(std::string_view line) {
    const auto object = parse_object(line, "a command from the client");
    if (!object) {
        return object.error();
    }
    JobCommand command;
    ObjectReader reader(*object, "a command from the client");
    std::string type;
    reader.require("type");
    reader.read("type", type);
    reader.read("grace_ms", command.grace_ms);
    if (type == "ping") {
        command.type = JobCommand::Type::ping;
    } else if (type == "stop") {
        command.type = JobCommand::Type::stop;
    } else if (type == "detach") {
        command.type = JobCommand::Type::detach;
    } else {
        reader.fail("unknown type \"" + type + "\"");
    }
    if (reader.failed()) {
        return reader.error();
    }
    return command;
}

std::string job_command_line(const JobCommand& command) {
    switch (command.type) {
    case JobCommand::Type::ping:
        return "{\"type\":\"ping\"}\n";
    case JobCommand::Type::detach:
        return "{\"type\":\"detach\"}\n";
    case JobCommand::Type::stop:
        break;
    }
    return "{\"grace_ms\":" + std::to_string(command.grace_ms) + ",\"type\":\"stop\"}\n";
}

} // namespace dockdist::wire
