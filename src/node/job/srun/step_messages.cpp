#include "node/job/srun/step_messages.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <array>
#include <csignal>

namespace dockdist::node {
namespace {

constexpr std::array<std::pair<StepMessage::Type, const char*>, 8> type_names{
    {{StepMessage::Type::opening, "opening"},
     {StepMessage::Type::start, "start"},
     {StepMessage::Type::signal, "signal"},
     {StepMessage::Type::end, "end"},
     {StepMessage::Type::prepared, "prepared"},
     {StepMessage::Type::error, "error"},
     {StepMessage::Type::task_ended, "task_ended"},
     {StepMessage::Type::ended, "ended"}}};
constexpr int most_ports = 10000;
constexpr std::int64_t longest_grace_ms = 3'600'000;

nlohmann::json to_object(const StepOpening& opening) {
    return {{"step", opening.step},
            {"tasks", opening.tasks},
            {"gpus", opening.gpus},
            {"gpus_per_task", opening.gpus_per_task},
            {"overcommit", opening.overcommit},
            {"ports", opening.ports}};
}

nlohmann::json to_object(const StepStart& start) {
    nlohmann::json object{{"argv", wire::bytes_array(start.argv)},
                          {"env", nlohmann::json::object()},
                          {"unset", wire::bytes_array(start.unset)},
                          {"folder", wire::bytes_to_json(start.folder)},
                          {"first_rank", start.first_rank},
                          {"world", start.world},
                          {"input_of", start.input_of}};
    for (const auto& [name, value] : start.env) {
        object["env"][name] = wire::bytes_to_json(value);
    }
    return object;
}

nlohmann::json to_object(const StepMessage& message) {
    switch (message.type) {
    case StepMessage::Type::opening:
        return to_object(message.opening);
    case StepMessage::Type::start:
        return to_object(message.start);
    case StepMessage::Type::signal:
        return {{"number", message.number}};
    case StepMessage::Type::end:
        return {{"grace_ms", message.grace_ms}, {"signal", message.signal}, {"with_job", message.with_job}};
    case StepMessage::Type::prepared:
        return {{"ports", message.prepared.ports}, {"gpus", message.prepared.gpus}};
    case StepMessage::Type::error:
        return {{"message", message.message}};
    case StepMessage::Type::task_ended:
        return {{"rank", message.task.rank}, {"code", message.task.code}, {"signal", message.task.signal}};
    case StepMessage::Type::ended:
        return nlohmann::json::object();
    }
    return {};
}

void read(wire::ObjectReader& reader, StepOpening& opening) {
    reader.read("step", opening.step);
    reader.read("tasks", opening.tasks, 1, wire::max_rank);
    reader.read("gpus", opening.gpus, -1, wire::max_rank);
    reader.read("gpus_per_task", opening.gpus_per_task, 0, wire::max_rank);
    reader.read("overcommit", opening.overcommit);
    reader.read("ports", opening.ports, 0, most_ports);
    if (!wire::is_job_id(opening.step)) {
        reader.fail("an invalid name of a step");
    }
}

void read(wire::ObjectReader& reader, StepStart& start) {
    reader.read_bytes("argv", start.argv);
    reader.read_bytes("env", start.env);
    reader.read_bytes("unset", start.unset);
    reader.read_bytes("folder", start.folder);
    reader.read("first_rank", start.first_rank, 0, wire::max_rank);
    reader.read("world", start.world, 1, wire::max_rank);
    reader.read("input_of", start.input_of, no_task, wire::max_rank);
    if (start.argv.empty()) {
        reader.fail("a step without a command");
    }
}

void read_ports(wire::ObjectReader& reader, std::vector<int>& ports) {
    const auto* list = reader.array("ports");
    if (list == nullptr || list->size() > most_ports) {
        return reader.fail("an invalid list of ports");
    }
    for (const auto& port : *list) {
        if (!port.is_number_integer() || port < 1 || port > 65535) {
            return reader.fail("an invalid port");
        }
        ports.push_back(port.get<int>());
    }
}

} // namespace

std::string step_frame(const StepMessage& message) {
    auto object = to_object(message);
    object["type"] =
        std::ranges::find(type_names, message.type, &std::pair<StepMessage::Type, const char*>::first)
            ->second;
    return wire::encode({.kind = wire::Frame::Kind::control, .payload = wire::dump(object)});
}

Result<StepMessage> parse_step_message(std::string_view payload) {
    const auto object = wire::parse_object(payload, "a message of the step");
    TRY(object);
    wire::ObjectReader reader(*object, "a message of the step");
    std::string type;
    reader.read("type", type);
    const auto* found =
        std::ranges::find_if(type_names, [&](const auto& entry) { return type == entry.second; });
    if (found == type_names.end()) {
        return Error{.kind = ErrorKind::protocol,
                     .message = "a message of the step of unknown type " + printable(type)};
    }
    StepMessage message{.type = found->first};
    switch (message.type) {
    case StepMessage::Type::opening:
        read(reader, message.opening);
        break;
    case StepMessage::Type::start:
        read(reader, message.start);
        break;
    case StepMessage::Type::signal:
        reader.read("number", message.number, 1, NSIG - 1);
        break;
    case StepMessage::Type::end:
        reader.read("grace_ms", message.grace_ms, 0, longest_grace_ms);
        reader.read("signal", message.signal, 1, NSIG - 1);
        reader.read("with_job", message.with_job);
        break;
    case StepMessage::Type::prepared:
        read_ports(reader, message.prepared.ports);
        reader.read("gpus", message.prepared.gpus, 0, wire::max_rank);
        break;
    case StepMessage::Type::error:
        reader.read("message", message.message);
        break;
    case StepMessage::Type::task_ended:
        reader.read("rank", message.task.rank, 0, wire::max_rank);
        reader.read("code", message.task.code, 0, 255);
        reader.read("signal", message.task.signal, 0, NSIG - 1);
        break;
    case StepMessage::Type::ended:
        break;
    }
    if (reader.failed()) {
        return reader.error();
    }
    return message;
}

} // namespace dockdist::node
