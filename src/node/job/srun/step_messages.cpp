#include "node/job/srun/step_messages.hpp"

#include "shared/wire/fields.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/job.hpp"

#include <csignal>

namespace dockdist::node {
namespace {

using StepType = StepMessage::Type;
constexpr wire::Words<StepType, 8> step_types{{{StepType::opening, "opening"},
                                               {StepType::start, "start"},
                                               {StepType::signal, "signal"},
                                               {StepType::end, "end"},
                                               {StepType::prepared, "prepared"},
                                               {StepType::error, "error"},
                                               {StepType::task_ended, "task_ended"},
                                               {StepType::ended, "ended"}}};
constexpr std::size_t most_ports = 10000;
constexpr std::int64_t longest_grace_ms = 3'600'000;

} // namespace

void fields_of(auto& fields, wire::Of<StepOpening> auto& opening) {
    fields("step", opening.step);
    fields("tasks", opening.tasks, 1, wire::max_rank);
    fields("gpus", opening.gpus, -1, wire::max_rank);
    fields("gpus_per_task", opening.gpus_per_task, 0, wire::max_rank);
    fields("overcommit", opening.overcommit);
    fields("ports", opening.ports, 0, static_cast<int>(most_ports));
    fields.check(wire::is_job_id(opening.step), "an invalid name of a step");
}

void fields_of(auto& fields, wire::Of<StepStart> auto& start) {
    fields("argv", wire::bytes_of(start.argv));
    fields("env", wire::bytes_of(start.env));
    fields("unset", wire::bytes_of(start.unset));
    fields("folder", wire::bytes_of(start.folder));
    fields("first_rank", start.first_rank, 0, wire::max_rank);
    fields("world", start.world, 1, wire::max_rank);
    fields("input_of", start.input_of, no_task, wire::max_rank);
    fields.check(!start.argv.empty(), "a step without a command");
}

void fields_of(auto& fields, wire::Of<StepPrepared> auto& prepared) {
    fields.required("ports", prepared.ports, 1, wire::highest_port, "port numbers");
    fields.check(prepared.ports.size() <= most_ports, "an invalid list of ports");
    fields("gpus", prepared.gpus, 0, wire::max_rank);
}

void fields_of(auto& fields, wire::Of<TaskEnd> auto& task) {
    fields("rank", task.rank, 0, wire::max_rank);
    fields("code", task.code, 0, 255);
    fields("signal", task.signal, 0, NSIG - 1);
}

void fields_of(auto& fields, wire::Of<StepMessage> auto& message) {
    fields.required("type", wire::named(message.type, step_types));
    switch (message.type) {
    case StepType::opening:
        fields.all_of(message.opening);
        break;
    case StepType::start:
        fields.all_of(message.start);
        break;
    case StepType::signal:
        fields("number", message.number, 1, NSIG - 1);
        break;
    case StepType::end:
        fields("grace_ms", message.grace_ms, 0, longest_grace_ms);
        fields("signal", message.signal, 1, NSIG - 1);
        fields("with_job", message.with_job);
        break;
    case StepType::prepared:
        fields.all_of(message.prepared);
        break;
    case StepType::error:
        fields("message", message.message);
        break;
    case StepType::task_ended:
        fields.all_of(message.task);
        break;
    case StepType::ended:
        break;
    }
}

std::string step_frame(const StepMessage& message) {
    return wire::encode({.kind = wire::Frame::Kind::control, .payload = wire::text_of(message)});
}

Result<StepMessage> parse_step_message(std::string_view payload) {
    return wire::parse<StepMessage>(payload, "a message of the step");
}

} // namespace dockdist::node
