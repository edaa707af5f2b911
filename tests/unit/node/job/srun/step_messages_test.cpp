#include "node/job/srun/step_messages.hpp"
#include "shared/wire/frame.hpp"

#include <doctest/doctest.h>

namespace step_messages_test {

using namespace dockdist::node;

namespace {

StepMessage there(const StepMessage& message) {
    const auto frame = step_frame(message);
    auto read = parse_step_message(std::string_view(frame).substr(dockdist::wire::frame_header_size));
    REQUIRE(read.has_value());
    CHECK(read->type == message.type);
    return *read;
}

} // namespace

TEST_CASE("messages arrive as they were sent") {
    StepMessage message{.type = StepMessage::Type::start};
    message.start = {.argv = {"a", "b\xff", ""},
                     .env = {{"A", "1\n"}},
                     .unset = {"B"},
                     .folder = "/x",
                     .first_rank = 2,
                     .world = 4,
                     .input_of = 2};
    const auto start = there(message).start;
    CHECK(start.argv == message.start.argv);
    CHECK(start.env == message.start.env);
    CHECK(start.unset == message.start.unset);
    CHECK(start.folder == "/x");
    CHECK(start.first_rank == 2);
    CHECK(start.input_of == 2);
    message = {.type = StepMessage::Type::opening};
    message.opening = {
        .step = "srun-1", .tasks = 2, .gpus = 1, .gpus_per_task = 1, .overcommit = true, .ports = 1};
    CHECK(there(message).opening.gpus == 1);
    CHECK(there({.type = StepMessage::Type::signal, .number = 2}).number == 2);
    CHECK(there({.type = StepMessage::Type::end, .grace_ms = 5000}).grace_ms == 5000);
    message = {.type = StepMessage::Type::prepared};
    message.prepared = {.ports = {20001}, .gpus = 2};
    CHECK(there(message).prepared.ports == std::vector<int>{20001});
    CHECK(there({.type = StepMessage::Type::task_ended, .task = {.rank = 3, .code = 139, .signal = 11}})
              .task.signal == 11);
    CHECK(there({.type = StepMessage::Type::ended}).type == StepMessage::Type::ended);
}

TEST_CASE("what is no message is refused") {
    for (const auto* text :
         {"", "{}", "[]", R"({"type":"other"})", R"({"type":"opening","step":"../x","tasks":1})",
          R"({"type":"opening","step":"x","tasks":-1})", R"({"type":"start","argv":[]})",
          R"({"type":"signal","number":0})", R"({"type":"signal","number":1000})",
          R"({"type":"prepared","ports":[99999]})", R"({"type":"prepared"})",
          R"({"type":"task_ended","rank":-1})", R"({"type":"task_ended","code":256})"}) {
        CAPTURE(text);
        CHECK(parse_step_message(text).has_error());
    }
}

} // namespace step_messages_test
