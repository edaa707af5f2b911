#include "shared/wire/job.hpp"

#include "shared/core/ending_signals.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/job_result.hpp"
#include "shared/wire/layout.hpp"

#include <algorithm>
#include <array>

namespace dockdist::wire {
namespace {

using nlohmann::json;

constexpr int most_gpus = 1024; // of a node
constexpr std::int64_t longest_pause_ms = 60'000;

constexpr Words<JobCommand::Type, 14> command_words{{{JobCommand::Type::ping, "ping"},
                                                     {JobCommand::Type::line, "line"},
                                                     {JobCommand::Type::take, "take"},
                                                     {JobCommand::Type::look, "look"},
                                                     {JobCommand::Type::stop, "stop"},
                                                     {JobCommand::Type::halt, "halt"},
                                                     {JobCommand::Type::rest, "rest"},
                                                     {JobCommand::Type::begin, "begin"},
                                                     {JobCommand::Type::report, "report"},
                                                     {JobCommand::Type::stacks, "stacks"},
                                                     {JobCommand::Type::examine, "examine"},
                                                     {JobCommand::Type::hang, "hang"},
                                                     {JobCommand::Type::over, "over"},
                                                     {JobCommand::Type::detach, "detach"}}};

using Event = JobEvent::Type;
constexpr Words<Event, 19> event_words{{{Event::prepared, "prepared"},
                                        {Event::turn, "turn"},
                                        {Event::started, "started"},
                                        {Event::rank_failed, "rank_failed"},
                                        {Event::rank_done, "rank_done"},
                                        {Event::silent, "silent"},
                                        {Event::speaks, "speaks"},
                                        {Event::idle, "idle"},
                                        {Event::busy, "busy"},
                                        {Event::reported, "reported"},
                                        {Event::still, "still"},
                                        {Event::goes_on, "goes_on"},
                                        {Event::examined, "examined"},
                                        {Event::ranks_gone, "ranks_gone"},
                                        {Event::ready, "ready"},
                                        {Event::ended, "ended"},
                                        {Event::detached, "detached"},
                                        {Event::exited, "exited"},
                                        {Event::error, "error"}}};

bool is_of_attempt(Event type) {
    using enum JobEvent::Type;
    return type != prepared && type != turn && type != detached && type != exited && type != error;
}

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

} // namespace

bool is_job_id(std::string_view text) {
    return !text.empty() && text.size() <= 64 && text.front() != '.' && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
               c == '_' || c == '.';
    });
}

std::string signal_word(int number) {
    return std::string(ending_signal_name(number));
}

void read_signal(ObjectReader& reader, const char* key, int& number) {
    std::string name;
    reader.read(key, name);
    if (const auto found = ending_signal(name)) {
        number = *found;
    } else if (!name.empty()) {
        reader.fail("\"" + std::string(key) + "\" must be " + std::string(ending_signals));
    }
}

std::string job_scratch(const std::string& job) {
    return std::string(layout::run) + "/jobs/" + job;
}

void fields_of(auto& fields, Of<JobOpening> auto& opening) {
    fields.required("job", opening.job);
    fields("env", bytes_of(opening.env));
    fields("secrets", bytes_of(opening.secrets));
    fields("unset", bytes_of(opening.unset));
    fields("workdir", bytes_of(opening.workdir));
    fields("user", opening.user);
    fields("lease_ms", opening.lease_ms);
    fields("grace_ms", opening.grace_ms);
    fields.when(opening.signal != SIGTERM, "signal", signal_of(opening.signal));
    fields("timeout_ms", opening.timeout_ms);
    fields("log_limit", opening.log_limit);
    fields("questions", opening.questions);
    fields("ports", opening.ports);
    fields("same_ports", opening.same_ports, 1, highest_port, "port numbers");
    fields("token", opening.token);
    fields("owner", opening.owner);
    fields("gpus", opening.gpus);
    fields.reading([&](auto& reader) { check_opening(opening, reader); });
}

void to_json(json& out, const JobOpening& opening) {
    out = listed_object(opening);
}

Result<JobOpening> parse_job_opening(std::string_view line) {
    return parse<JobOpening>(line, "the job's opening");
}

void fields_of(auto& fields, Of<Answer> auto& answer) {
    fields("name", answer.name);
    fields("code", answer.code);
    fields("output", bytes_of(answer.output));
}

void fields_of(auto& fields, Of<LaunchFacts> auto& facts) {
    fields("ports", facts.ports, 1, highest_port, "port numbers");
    fields("answers", facts.answers);
    fields("gpus", facts.gpus);
}

void to_json(json& out, const LaunchFacts& facts) {
    out = listed_object(facts);
}

void fields_of(auto& fields, Of<RasReport> auto& ras) {
    fields.writing([&](auto& out) { out = ras_object(ras); });
    fields.reading([&](auto& reader) { read_ras(reader, ras); });
}

void fields_of(auto& fields, Of<RankStack> auto& rank) {
    fields.writing([&](auto& out) { out = rank_stack_object(rank); });
    fields.reading([&](auto& reader) { read_rank_stack(reader, rank); });
}

void fields_of(auto& fields, Of<JobEvent> auto& event) {
    fields.required("type", named(event.type, event_words));
    fields.when(is_of_attempt(event.type), "attempt", event.attempt);
    switch (event.type) {
    case Event::prepared:
        fields.all_of(event.facts);
        break;
    case Event::turn:
        fields.all_of(event.turn);
        break;
    case Event::started:
        fields("pid", event.pid);
        break;
    case Event::rank_failed:
        fields.all_of(event.failure);
        break;
    case Event::rank_done:
        fields("rank", event.rank, 0, max_rank);
        break;
    case Event::idle:
        fields("gpus", event.gpus, 0, most_gpus);
        break;
    case Event::reported:
    case Event::examined:
        fields("ras", event.ras);
        fields("ranks", event.ranks, most_told_ranks);
        fields.omit_empty("addresses", event.node.addresses);
        fields.omit_empty("gpu_faults", event.node.gpu_faults);
        fields.omit_empty("unanswered", event.node.unanswered);
        break;
    case Event::ready:
        fields("address", bytes_of(event.address));
        break;
    case Event::ended:
    case Event::exited:
        fields.all_of(event.result);
        break;
    case Event::error:
        fields.all_of(event.error);
        break;
    case Event::silent:
    case Event::speaks:
    case Event::still:
    case Event::goes_on:
    case Event::busy:
    case Event::ranks_gone:
    case Event::detached:
        break;
    }
}

Result<JobEvent> parse_job_event(std::string_view payload) {
    return parse<JobEvent>(payload, "a job's event");
}

std::string job_event(const JobEvent& event) {
    return text_of(event);
}

void fields_of(auto& fields, Of<JobCommand> auto& command) {
    using enum JobCommand::Type;
    const auto is = [&](auto... types) { return ((command.type == types) || ...); };
    fields.required("type", named(command.type, command_words));
    fields.when(is(stop, halt), "grace_ms", command.grace_ms);
    fields.when(command.signal != 0, "signal", signal_of(command.signal));
    fields.when(is(halt, rest, begin, report, examine, JobCommand::Type::hang), "attempt", command.attempt);
    fields.omit_empty("takes_over", command.takes_over);
    fields.when(is(line), "number", command.number, 0, any_count);
    fields.when(is(line, take, look), "order", command.order, 0, any_count);
    fields.when(command.first.has_value(), "first", first_of(command.first));
    fields.omit_empty("pause_ms", command.pause_ms, 0, longest_pause_ms);
    fields.omit_empty("asks_ras", command.asks_ras);
    fields("hang", command.hang);
    fields("start", command.start);
}

Result<JobCommand> parse_job_command(std::string_view line) {
    return parse<JobCommand>(line, "a command from the client");
}

std::string job_command_line(const JobCommand& command) {
    return line_of(command);
}

} // namespace dockdist::wire
