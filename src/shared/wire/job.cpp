#include "shared/wire/job.hpp"

#include "shared/core/ending_signals.hpp"
#include "shared/wire/job_result.hpp"
#include "shared/wire/json_reader.hpp"
#include "shared/wire/layout.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace dockdist::wire {
namespace {

using nlohmann::json;

constexpr int most_gpus = 1024; // of a node

struct CommandName {
    JobCommand::Type type;
    std::string_view name;
};
constexpr std::array<CommandName, 12> command_names{{{JobCommand::Type::ping, "ping"},
                                                     {JobCommand::Type::line, "line"},
                                                     {JobCommand::Type::take, "take"},
                                                     {JobCommand::Type::look, "look"},
                                                     {JobCommand::Type::stop, "stop"},
                                                     {JobCommand::Type::halt, "halt"},
                                                     {JobCommand::Type::rest, "rest"},
                                                     {JobCommand::Type::begin, "begin"},
                                                     {JobCommand::Type::report, "report"},
                                                     {JobCommand::Type::stacks, "stacks"},
                                                     {JobCommand::Type::over, "over"},
                                                     {JobCommand::Type::detach, "detach"}}};

struct EventName {
    JobEvent::Type type;
    std::string_view name;
    bool of_attempt = false;
};
constexpr std::array<EventName, 15> event_names{{{JobEvent::Type::prepared, "prepared"},
                                                 {JobEvent::Type::turn, "turn"},
                                                 {JobEvent::Type::started, "started", true},
                                                 {JobEvent::Type::rank_failed, "rank_failed", true},
                                                 {JobEvent::Type::silent, "silent", true},
                                                 {JobEvent::Type::speaks, "speaks", true},
                                                 {JobEvent::Type::idle, "idle", true},
                                                 {JobEvent::Type::busy, "busy", true},
                                                 {JobEvent::Type::reported, "reported", true},
                                                 {JobEvent::Type::ranks_gone, "ranks_gone", true},
                                                 {JobEvent::Type::ready, "ready", true},
                                                 {JobEvent::Type::ended, "ended", true},
                                                 {JobEvent::Type::detached, "detached"},
                                                 {JobEvent::Type::exited, "exited"},
                                                 {JobEvent::Type::error, "error"}}};

void check_opening(const JobOpening& opening, ObjectReader& reader) {
    if (!is_job_id(opening.job)) {
        reader.fail("\"job\" must be 1 to 64 letters, digits, '-', '_' or '.', and not begin with '.'");
    }
    if (!are_variables(opening.env) || !are_variables(opening.secrets)) {
        reader.fail("\"env\" or \"secrets\": a name is empty or has '=', or contains a NUL byte");
    }
    if (has_nul(opening.workdir) || has_nul(opening.user)) {
        reader.fail("\"workdir\" or \"user\" holds a NUL byte");
    }
    if (opening.lease_ms <= 0 || opening.grace_ms < 0 || opening.timeout_ms < 0 || opening.ports < 0 ||
        opening.ports > 64) {
        reader.fail(
            "\"lease_ms\" must be above 0, \"grace_ms\" and \"timeout_ms\" not negative, \"ports\" 0 to 64");
    }
    if (opening.log_limit < least_log_limit) {
        reader.fail("\"log_limit\" must be " + std::to_string(least_log_limit) + " bytes at least");
    }
    for (const auto& question : opening.questions) {
        if (question.argv.empty() || question.argv.front().empty() ||
            std::ranges::any_of(question.argv, has_nul)) {
            reader.fail("\"questions\": one names no program, or contains a NUL byte");
        }
    }
}

void read_ports(ObjectReader& reader, const char* key, std::vector<int>& numbers) {
    if (const auto* ports = reader.array(key)) {
        for (const auto& port : *ports) {
            if (!port.is_number_integer() || port < 1 || port > 65535) {
                return reader.fail("\"" + std::string(key) + "\" must be an array of port numbers");
            }
            numbers.push_back(port.get<int>());
        }
    }
}

void read_facts(ObjectReader& reader, LaunchFacts& facts) {
    read_ports(reader, "ports", facts.ports);
    read_objects(reader, "answers", [&](ObjectReader& answer) {
        auto& read = facts.answers.emplace_back();
        answer.read("name", read.name);
        answer.read("code", read.code);
        answer.read_bytes("output", read.output);
    });
    read_object(reader, "gpus", [&](ObjectReader& turn) { read_fields(turn, facts.gpus); });
}

} // namespace

bool is_job_id(std::string_view text) {
    return !text.empty() && text.size() <= 64 && text.front() != '.' && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_' || c == '.';
    });
}

void write_signal(json& out, int signal, int usual) {
    if (signal != usual) {
        out["signal"] = ending_signal_name(signal);
    }
}

void read_signal(ObjectReader& reader, int& signal) {
    std::string name;
    reader.read("signal", name);
    if (const auto number = ending_signal(name)) {
        signal = *number;
    } else if (!name.empty()) {
        reader.fail("\"signal\" must be " + std::string(ending_signals));
    }
}

std::string job_scratch(const std::string& job) {
    return std::string(layout::run) + "/jobs/" + job;
}

void to_json(json& out, const JobOpening& opening) {
    out = json{{"job", opening.job},
               {"env", bytes_object(opening.env)},
               {"secrets", bytes_object(opening.secrets)},
               {"unset", bytes_array(opening.unset)},
               {"workdir", bytes_to_json(opening.workdir)},
               {"user", opening.user},
               {"lease_ms", opening.lease_ms},
               {"grace_ms", opening.grace_ms},
               {"timeout_ms", opening.timeout_ms},
               {"log_limit", opening.log_limit},
               {"questions", opening.questions},
               {"ports", opening.ports},
               {"same_ports", opening.same_ports},
               {"token", opening.token},
               {"owner", opening.owner},
               {"gpus", opening.gpus}};
    write_signal(out, opening.signal, SIGTERM);
}

void to_json(json& out, const LaunchFacts& facts) {
    out = json{{"ports", facts.ports}, {"answers", json::array()}, {"gpus", facts.gpus}};
    for (const auto& answer : facts.answers) {
        out["answers"].push_back(
            {{"name", answer.name}, {"code", answer.code}, {"output", bytes_to_json(answer.output)}});
    }
}

Result<JobOpening> parse_job_opening(std::string_view line) {
    const auto object = parse_object(line, "the job's opening");
    TRY(object);
    JobOpening opening;
    ObjectReader reader(*object, "the job's opening");
    reader.require("job");
    reader.read("job", opening.job);
    reader.read_bytes("env", opening.env);
    reader.read_bytes("secrets", opening.secrets);
    reader.read_bytes("unset", opening.unset);
    reader.read_bytes("workdir", opening.workdir);
    reader.read("user", opening.user);
    reader.read("lease_ms", opening.lease_ms);
    reader.read("grace_ms", opening.grace_ms);
    read_signal(reader, opening.signal);
    reader.read("timeout_ms", opening.timeout_ms);
    reader.read("log_limit", opening.log_limit);
    reader.read("ports", opening.ports);
    read_ports(reader, "same_ports", opening.same_ports);
    reader.read("token", opening.token);
    reader.read("owner", opening.owner);
    read_object(reader, "gpus", [&](ObjectReader& ask) { read_fields(ask, opening.gpus); });
    read_objects(reader, "questions",
                 [&](ObjectReader& question) { read_fields(question, opening.questions.emplace_back()); });
    if (!reader.failed()) {
        check_opening(opening, reader);
    }
    if (reader.failed()) {
        return reader.error();
    }
    return opening;
}

Result<JobEvent> parse_job_event(std::string_view payload) {
    using Type = JobEvent::Type;
    const auto object = parse_object(payload, "a job's event");
    TRY(object);
    JobEvent event;
    ObjectReader reader(*object, "a job's event");
    std::string type;
    reader.require("type");
    reader.read("type", type);
    reader.read("attempt", event.attempt);
    const auto* const found = std::ranges::find(event_names, type, &EventName::name);
    if (found == event_names.end()) {
        reader.fail("unknown type \"" + type + "\"");
        return reader.error();
    }
    event.type = found->type;
    if (event.type == Type::prepared) {
        read_facts(reader, event.facts);
    } else if (event.type == Type::turn) {
        read_fields(reader, event.turn);
    } else if (event.type == Type::started) {
        reader.read("pid", event.pid);
    } else if (event.type == Type::idle) {
        reader.read("gpus", event.gpus, 0, most_gpus);
    } else if (event.type == Type::rank_failed) {
        read_failure(reader, event.failure);
    } else if (event.type == Type::reported) {
        read_objects(reader, "ranks", [&](ObjectReader& rank) {
            if (event.ranks.size() == most_told_ranks) {
                return rank.fail("too many ranks");
            }
            read_rank_stack(rank, event.ranks.emplace_back());
        });
        read_object(reader, "ras", [&](ObjectReader& ras) { read_ras(ras, event.ras); });
    } else if (event.type == Type::ready) {
        reader.read_bytes("address", event.address);
    } else if (event.type == Type::ended || event.type == Type::exited) {
        read_result(reader, event.result);
    } else if (event.type == Type::error) {
        event.error = read_error(reader);
    }
    if (reader.failed()) {
        return reader.error();
    }
    return event;
}

std::string job_event(const JobEvent& event) {
    using Type = JobEvent::Type;
    json object = json::object();
    switch (event.type) {
    case Type::prepared:
        object = event.facts;
        break;
    case Type::turn:
        object = event.turn;
        break;
    case Type::started:
        object = json{{"pid", event.pid}};
        break;
    case Type::idle:
        object = json{{"gpus", event.gpus}};
        break;
    case Type::rank_failed:
        object = event.failure;
        break;
    case Type::ready:
        object = json{{"address", bytes_to_json(event.address)}};
        break;
    case Type::ended:
    case Type::exited:
        object = event.result;
        break;
    case Type::error:
        object = error_to_json(event.error);
        break;
    case Type::reported:
        object["ranks"] = json::array();
        for (const auto& rank : event.ranks) {
            object["ranks"].push_back(rank_stack_object(rank));
        }
        object["ras"] = ras_object(event.ras);
        break;
    case Type::silent:
    case Type::speaks:
    case Type::busy:
    case Type::ranks_gone:
    case Type::detached:
        break;
    }
    const auto* const found = std::ranges::find(event_names, event.type, &EventName::type);
    object["type"] = found->name;
    if (found->of_attempt) {
        object["attempt"] = event.attempt;
    }
    return dump(object);
}

Result<JobCommand> parse_job_command(std::string_view line) {
    const auto object = parse_object(line, "a command from the client");
    TRY(object);
    JobCommand command;
    ObjectReader reader(*object, "a command from the client");
    std::string type;
    reader.require("type");
    reader.read("type", type);
    reader.read("grace_ms", command.grace_ms);
    read_signal(reader, command.signal);
    reader.read("attempt", command.attempt);
    reader.read("takes_over", command.takes_over);
    reader.read("number", command.number, 0, std::numeric_limits<std::int64_t>::max());
    reader.read("order", command.order, 0, std::numeric_limits<std::int64_t>::max());
    read_first(reader, command.first);
    read_object(reader, "start", [&](ObjectReader& start) { read_start(start, command.start.emplace()); });
    const auto* const found = std::ranges::find(command_names, type, &CommandName::name);
    if (found == command_names.end()) {
        reader.fail("unknown type \"" + type + "\"");
    } else {
        command.type = found->type;
    }
    if (reader.failed()) {
        return reader.error();
    }
    return command;
}

std::string job_command_line(const JobCommand& command) {
    using Type = JobCommand::Type;
    json object{{"type", std::ranges::find(command_names, command.type, &CommandName::type)->name}};
    if (command.type == Type::stop || command.type == Type::halt) {
        object["grace_ms"] = command.grace_ms;
    }
    write_signal(object, command.signal, 0);
    if (command.type == Type::halt || command.type == Type::rest || command.type == Type::begin ||
        command.type == Type::report) {
        object["attempt"] = command.attempt;
    }
    if (command.takes_over) {
        object["takes_over"] = true;
    }
    if (command.type == Type::line) {
        object["number"] = command.number;
    }
    if (command.type == Type::line || command.type == Type::take || command.type == Type::look) {
        object["order"] = command.order;
    }
    if (command.first) {
        object["first"] = first_object(*command.first);
    }
    if (command.start) {
        object["start"] = *command.start;
    }
    return dump(object) + "\n";
}

} // namespace dockdist::wire
