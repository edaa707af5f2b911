#include "shared/wire/job.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace job_test {

using namespace dockdist;
using namespace dockdist::wire;
using nlohmann::json;

namespace {

JobOpening opening() {
    return {.job = "train-1",
            .env = {{"A", "x\ny"}, {"B", "\x80"}},
            .secrets = {{"TOKEN", "\xfe"}},
            .unset = {"C"},
            .workdir = "/workspace",
            .user = "1000:1000",
            .lease_ms = 5000,
            .grace_ms = 500,
            .timeout_ms = 60000,
            .log_limit = 1 << 21,
            .questions = {{.name = "python", .argv = {"python", "-c", "print('\xff')"}}},
            .ports = 3,
            .same_ports = {20001, 20002},
            .token = "c0ffee"};
}

JobStart start() {
    return {
        .policy = {.parts = {{.node = "node-0", .ranks = 2}, {.node = "node-1", .hosts_remote_ranks = true}},
                   .max_restarts = 3,
                   .backoff_ms = 10,
                   .grace_ms = 20},
        .part = 1,
        .stays = true,
        .argv = {"torchrun", "a b"},
        .env = {{"NODE_RANK", "1"}},
        .files = {{"/job/hostfile", "node-0 slots=8\n"}},
        .rank_command = {"python", "train.py", "\xff\xfe", "$(touch /pwn)"},
        .rank_env = {{{"TF_CONFIG", "{}"}}, {}, {{"A", "\xff"}}},
        .local_rank_at = 2,
        .rank_secrets = true,
        .leaves_servers = true};
}

std::string opening_with(const char* pointer, const json& value) {
    auto object = json(opening());
    object[json::json_pointer(pointer)] = value;
    return object.dump();
}

std::string start_with(const char* pointer, const json& value) {
    auto object = json(start());
    object[json::json_pointer(pointer)] = value;
    return object.dump();
}

} // namespace

TEST_CASE("a job's opening and its start survive the way byte for byte") {
    const auto opened = parse_job_opening(json(opening()).dump());
    REQUIRE(opened.has_value());
    CHECK(opened->env == opening().env);
    CHECK(opened->questions.at(0).argv == opening().questions[0].argv);
    CHECK(json(*opened) == json(opening()));
    const auto started = parse_job_start(json(start()).dump());
    REQUIRE(started.has_value());
    CHECK(started->rank_command == start().rank_command);
    CHECK(json(*started) == json(start()));
    CHECK(started->policy.parts.at(1).hosts_remote_ranks);
    CHECK_FALSE(parse_job_start(start_with("/part", 2)).has_value());
    CHECK_FALSE(parse_job_start(start_with("/policy/max_restarts", -1)).has_value());
    CHECK_FALSE(parse_job_start(start_with("/policy/parts", 1)).has_value());
    CHECK(parse_job_start(R"({"argv":[]})")->argv.empty()); // a part that only hosts ranks
}

TEST_CASE("what nodes and client say of a job's GPUs survives the way") {
    const GpuHold hold{.unit = {.id = "GPU-a", .index = 1, .name = "NVIDIA L4"},
                       .by = {.cluster = "c", .node = "n", .job = "j", .owner = "u@m", .age_s = 7},
                       .outside = true};
    GpuTurn turn{.order = 2,
                 .number = 4,
                 .units = {hold.unit},
                 .together = "NVLink",
                 .wanted = 1,
                 .place = 2,
                 .held = {hold},
                 .ahead = {{.who = hold.by, .wanted = 2, .priority = -3}},
                 .left_out = {"GPU 1 has errors"}};
    for (const auto state :
         {GpuTurn::State::none, GpuTurn::State::taken, GpuTurn::State::fits, GpuTurn::State::waits}) {
        turn.state = state;
        const auto event = parse_job_event(job_event({.type = JobEvent::Type::turn, .turn = turn}));
        REQUIRE(event.has_value());
        CHECK(event->type == JobEvent::Type::turn);
        CHECK(event->turn == turn);
        const auto prepared =
            parse_job_event(job_event({.type = JobEvent::Type::prepared, .facts = {.gpus = turn}}));
        CHECK(prepared->facts.gpus == turn);
    }
    const auto line =
        parse_job_command(job_command_line({.type = JobCommand::Type::line, .number = 5, .order = 6}));
    CHECK(line->type == JobCommand::Type::line);
    CHECK(line->number == 5);
    CHECK(line->order == 6);
    const auto take = parse_job_command(job_command_line({.type = JobCommand::Type::take, .order = 7}));
    CHECK(take->type == JobCommand::Type::take);
    CHECK(take->order == 7);
    const auto look = parse_job_command(job_command_line({.type = JobCommand::Type::look, .order = 8}));
    CHECK(look->type == JobCommand::Type::look);
    CHECK(look->order == 8);
    const GpuTurn looks{.state = GpuTurn::State::fits, .looks = true, .could = {"a", "b"}, .free = {"b"}};
    CHECK(parse_job_event(job_event({.type = JobEvent::Type::turn, .turn = looks}))->turn == looks);
    auto asking = opening();
    asking.owner = "u@m";
    asking.gpus = {.count = 2, .priority = -1, .number = 3, .in_use_mib = 1024};
    CHECK(parse_job_opening(json(asking).dump())->gpus == asking.gpus);
    CHECK(parse_job_opening(json(asking).dump())->owner == "u@m");
    CHECK(parse_job_opening(R"({"job":"j"})")->gpus.share); // who does not ask takes nothing
    CHECK_FALSE(parse_job_event(R"({"type":"turn","state":"odd"})").has_value());
    CHECK_FALSE(parse_job_event(R"({"type":"turn","state":"fits","number":-1})").has_value());
    CHECK_FALSE(parse_job_command(R"({"type":"take","order":-1})").has_value());
}

TEST_CASE("a job's name cannot leave its folder") {
    for (const auto* name : {"", "..", ".hidden", "a/b", "a\nb", "a b"}) {
        CAPTURE(name);
        CHECK_FALSE(is_job_id(name));
        CHECK_FALSE(parse_job_opening(opening_with("/job", name)).has_value());
    }
    CHECK(is_job_id("train-1.a_B"));
    CHECK_FALSE(is_job_id(std::string(65, 'a')));
}

TEST_CASE("what no process can be given is refused") {
    for (const auto* words : {"/argv", "/rank_command"}) {
        CAPTURE(words);
        CHECK_FALSE(parse_job_start(start_with(words, {""})).has_value());
        CHECK_FALSE(parse_job_start(start_with(words, {"a", std::string("b\0c", 3)})).has_value());
    }
    CHECK_FALSE(parse_job_opening(opening_with("/env", {{"A=B", "x"}})).has_value());
    CHECK_FALSE(parse_job_opening(opening_with("/secrets", {{"A=B", "x"}})).has_value());
    CHECK_FALSE(parse_job_start(start_with("/env", {{"", "x"}})).has_value());
    CHECK_FALSE(parse_job_start(start_with("/files", {{"relative", "x"}})).has_value());
    CHECK_FALSE(parse_job_start(start_with("/rank_env/1/env", {{"A=B", "x"}})).has_value());
    CHECK_FALSE(parse_job_start(start_with("/rank_env/1", "x")).has_value());
    CHECK_FALSE(parse_job_start(start_with("/local_rank_at", 5)).has_value());
    CHECK_FALSE(parse_job_start(start_with("/local_rank_option", "train.py")).has_value());
    CHECK_FALSE(parse_job_opening(opening_with("/lease_ms", -1)).has_value());
    CHECK_FALSE(parse_job_opening(opening_with("/lease_ms", 0)).has_value());
    CHECK_FALSE(parse_job_opening(opening_with("/timeout_ms", -1)).has_value());
    CHECK_FALSE(parse_job_opening(opening_with("/log_limit", 1000)).has_value());
    CHECK_FALSE(parse_job_opening(opening_with("/ports", 1000)).has_value());
    CHECK_FALSE(parse_job_opening(opening_with("/questions/0/argv", json::array())).has_value());
}

TEST_CASE("a wrong type names the key") {
    CHECK(parse_job_start(start_with("/argv", "sh")).error().message ==
          "the job's start: \"argv\" must be an array");
    CHECK(parse_job_start(start_with("/argv", {1})).error().message ==
          "the job's start: \"argv\" must be an array of strings");
    CHECK(parse_job_opening(opening_with("/env", {{"A", 1}})).error().message ==
          "the job's opening: \"env\" must be an object of strings");
    CHECK_FALSE(parse_job_start(start_with("/argv", {{{"hex", "abc"}}})).has_value());
    CHECK_FALSE(parse_job_opening(opening_with("/questions", {1})).has_value());
}

TEST_CASE("events survive the way") {
    JobEvent event{.type = JobEvent::Type::exited};
    event.result = {.code = 7, .stopped = true, .reason = "lease"};
    event.result.failures.push_back(
        {.rank = 3, .local_rank = 1, .code = 137, .signal = 9, .oom = true, .tail = "last\xff"});
    const auto parsed = parse_job_event(job_event(event));
    REQUIRE(parsed.has_value());
    CHECK(parsed->type == JobEvent::Type::exited);
    CHECK(parsed->result.reason == "lease");
    REQUIRE(parsed->result.failures.size() == 1);
    CHECK(parsed->result.failures[0].rank == 3);
    CHECK(parsed->result.failures[0].oom);
    CHECK(parsed->result.failures[0].tail == "last\xff");

    event = {.type = JobEvent::Type::prepared};
    event.facts = {.ports = {29500}, .answers = {{.name = "mpirun", .code = 127, .output = "\xff"}}};
    const auto facts = parse_job_event(job_event(event))->facts;
    CHECK(json(facts) == json(event.facts));

    event = {.type = JobEvent::Type::started};
    event.pid = 42;
    CHECK(parse_job_event(job_event(event))->pid == 42);

    event = {.type = JobEvent::Type::rank_failed};
    event.failure = {.rank = 2, .code = 1, .finding = "no rank wrote anything"};
    CHECK(parse_job_event(job_event(event))->failure.rank == 2);
    CHECK(parse_job_event(job_event(event))->failure.finding == "no rank wrote anything");

    event = {.type = JobEvent::Type::ended, .attempt = 2};
    event.result = {.code = 7, .attempt = 2, .first = JobFailure{.node = "node-1", .rank = 3, .code = 7}};
    const auto ended = parse_job_event(job_event(event));
    CHECK(ended->attempt == 2);
    CHECK(json(ended->result) == json(event.result));
    for (const auto type : {JobEvent::Type::silent, JobEvent::Type::speaks, JobEvent::Type::reported}) {
        const auto told = parse_job_event(job_event({.type = type, .attempt = 2}));
        CHECK(told->type == type);
        CHECK(told->attempt == 2);
    }
    event = {.type = JobEvent::Type::reported, .ranks = {{.rank = 3, .pid = 7, .command = "a"}, {.rank = 4}}};
    CHECK(parse_job_event(job_event(event))->ranks == event.ranks);
    event.ranks.resize(most_told_ranks);
    CHECK(parse_job_event(job_event(event))->ranks.size() == most_told_ranks);
    event.ranks.resize(most_told_ranks + 1);
    CHECK_FALSE(parse_job_event(job_event(event)).has_value());
    CHECK(parse_job_event(job_event({.type = JobEvent::Type::detached}))->type == JobEvent::Type::detached);
    event = {.type = JobEvent::Type::error};
    event.error = {.kind = ErrorKind::config, .message = "no user", .hint = "set one"};
    CHECK(parse_job_event(job_event(event))->error == event.error);
}

TEST_CASE("an event of an unknown type is an error") {
    CHECK_FALSE(parse_job_event(R"({"type":"later"})").has_value());
    CHECK_FALSE(parse_job_event("{}").has_value());
    CHECK_FALSE(parse_job_event(R"({"type":"exited","failures":[1]})").has_value());
    CHECK_FALSE(parse_job_event(R"({"type":"prepared","ports":[0]})").has_value());
}

TEST_CASE("the client's lines survive the way") {
    CHECK(parse_job_command(job_command_line({.type = JobCommand::Type::ping}))->type ==
          JobCommand::Type::ping);
    CHECK(parse_job_command(job_command_line({.type = JobCommand::Type::detach}))->type ==
          JobCommand::Type::detach);
    const auto stop = parse_job_command(job_command_line({.type = JobCommand::Type::stop, .grace_ms = 1500}));
    CHECK(stop->type == JobCommand::Type::stop);
    CHECK(stop->grace_ms == 1500);
    CHECK_FALSE(stop->first.has_value());
    for (const auto type : {JobCommand::Type::halt, JobCommand::Type::begin, JobCommand::Type::report}) {
        CHECK(parse_job_command(job_command_line({.type = type, .attempt = 2}))->attempt == 2);
    }
    const auto over = parse_job_command(
        job_command_line({.type = JobCommand::Type::over,
                          .first = JobFailure{.node = "node-1", .rank = 3, .code = 7, .tail = "\xff"}}));
    CHECK(over->type == JobCommand::Type::over);
    REQUIRE(over->first.has_value());
    CHECK(over->first->node == "node-1");
    CHECK(over->first->rank == 3);
    CHECK(over->first->tail == "\xff");
}

TEST_CASE(
    "a policy that goes on without lost nodes, and an order to begin with another start, survive the way") {
    auto now = start();
    now.policy.parts.at(0).lost = true;
    now.policy.members = {1};
    now.policy.min_nodes = 1;
    now.policy.relaunch = "what launch/ reads, \xff";
    const auto begin =
        parse_job_command(job_command_line({.type = JobCommand::Type::begin, .attempt = 1, .start = now}));
    REQUIRE(begin.has_value());
    REQUIRE(begin->start.has_value());
    CHECK(json(*begin->start) == json(now));
    CHECK(begin->start->policy.relaunch == now.policy.relaunch);
    CHECK(begin->start->policy.members == std::vector<int>{1});
    CHECK(coordinator_part(begin->start->policy) == 1);
    CHECK_FALSE(parse_job_command(job_command_line({.type = JobCommand::Type::begin}))->start.has_value());
    CHECK(parse_job_command(R"({"type":"begin","start":{"argv":[""]}})").has_error());
    CHECK_FALSE(parse_job_start(start_with("/policy/members", {2})).has_value());
    CHECK_FALSE(parse_job_start(start_with("/policy/members", {"a"})).has_value());
    const JobResult result{.rank_numbers = {0, 3}, .left_out = {"node-0"}};
    CHECK(parse_job_result(json(result).dump())->left_out == result.left_out);
    CHECK(parse_job_result(json(result).dump())->rank_numbers == result.rank_numbers);
    CHECK_FALSE(json(JobResult{}).contains("left_out"));
    CHECK_FALSE(json(JobResult{}).contains("rank_numbers"));
    CHECK(parse_job_result(R"({"code":0,"rank_numbers":[-1]})").has_error());
    CHECK(parse_job_result(R"({"code":0,"rank_numbers":["a"]})").has_error());
}

TEST_CASE("a summary survives the way") {
    JobSummary summary{
        .job = "a", .running = true, .started_ms = 12, .duration_ms = 7, .argv = {"x", "\xfe"}};
    summary.result.code = 3;
    const auto parsed = parse_job_summary(json(summary).dump());
    REQUIRE(parsed.has_value());
    CHECK(json(*parsed) == json(summary));
    CHECK(parsed->duration_ms == 7);
    CHECK(parsed->before == BeforeStart{}); // of an earlier dockdist: nobody has told
    CHECK_FALSE(json(summary).contains("waited_ms"));
    for (const std::int64_t waited : {0, 5000}) {
        summary.before = {.waited_ms = waited, .held_ms = waited / 10};
        CHECK(parse_job_summary(json(summary).dump())->before == summary.before);
        const JobStart start{.argv = {"x"}, .before = summary.before};
        CHECK(parse_job_start(json(start).dump())->before == summary.before);
    }
    CHECK_FALSE(parse_job_summary(R"({"job":"a","result":1})").has_value());
}

TEST_CASE("what a node says of a job is held to what the client does with it") {
    for (const auto* job : {"../../x", "/etc", "a/b", "", ".hidden", "x\n", "a b"}) {
        CHECK(parse_job_summary(json{{"job", job}}.dump()).has_error());
    }
    for (const auto* said :
         {R"({"job":"a","lease_ms":-1})", R"({"job":"a","waited_ms":-1})", R"({"job":"a","held_ms":-1})",
          R"({"job":"a","waited_ms":9000000000000000000})", R"({"job":"a","waited_ms":null})",
          R"({"job":"a","held_ms":9000000000000000000})", R"({"job":"a","started_ms":-5})",
          R"({"job":"a","duration_ms":9000000000000000000})", R"({"job":"a","result":{"code":256}})",
          R"({"job":"a","result":{"code":-1}})", R"({"job":"a","result":{"attempt":-1}})",
          R"({"job":"a","result":{"failures":[{"rank":2147483647}]}})",
          R"({"job":"a","policy":{"backoff_ms":9000000000000000000}})",
          R"({"job":"a","policy":{"parts":[{"node":"n"}],"relaunch":"{}"}})"}) {
        INFO(said);
        CHECK(parse_job_summary(said).has_error());
    }
    auto deep = std::string(R"({"job":"a","x":)");
    for (int i = 0; i < 100'000; ++i) {
        deep += "[";
    }
    CHECK(parse_job_summary(deep).has_error());
    CHECK(parse_job_summary(deep + std::string(100'000, ']') + "}").has_error());
}

TEST_CASE("a job's first failure travels in its result, where there is one") {
    JobResult result{.code = 143};
    CHECK_FALSE(json(result).contains("first"));
    result.first = {.node = "node-1", .rank = 3, .code = 7, .tail = "\xfe"};
    CHECK(json(result)["first"]["node"] == "node-1");
    CHECK(json(result)["first"]["failure"]["rank"] == 3);
    CHECK_FALSE(json(result)["first"]["failure"].contains("node")); // said once
    CHECK(json(*result.first)["node"] == "node-1");
    CHECK_FALSE(json(JobFailure{.rank = 3}).contains("node"));
    const auto parsed = parse_job_result(json(result).dump());
    REQUIRE(parsed.has_value());
    CHECK(json(*parsed) == json(result));
    CHECK(parse_job_result(R"({"first":1})").has_error());
    CHECK(parse_job_result(R"({"first":{"node":"a","failure":{"rank":"x"}}})").has_error());
}

} // namespace job_test
