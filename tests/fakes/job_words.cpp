#include "fakes/wire_words.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/job_query.hpp"
#include "shared/wire/ready_probe.hpp"
#include "shared/wire/stacks.hpp"
#include "shared/wire/succession.hpp"

#include <nlohmann/json.hpp>

#include <csignal>

namespace dockdist {
namespace {

using nlohmann::json;

const wire::GpuHold& some_hold() {
    static const wire::GpuHold hold{
        .unit = {.id = "GPU-a", .index = 1, .name = "NVIDIA L4"},
        .by = {.cluster = "c", .node = "n", .job = "j", .owner = "u@m", .age_s = 7},
        .outside = true};
    return hold;
}

wire::GpuTurn turn_in(wire::GpuTurn::State state) {
    return {.state = state,
            .order = 2,
            .number = 4,
            .units = {some_hold().unit},
            .together = "NVLink",
            .wanted = 1,
            .place = 2,
            .held = {some_hold()},
            .ahead = {{.who = some_hold().by, .wanted = 2, .priority = 3}},
            .left_out = {"GPU 1 \xff"}};
}

wire::GpuTurn turn_of_one_that_looks() {
    auto turn = turn_in(wire::GpuTurn::State::fits);
    turn.looks = true;
    turn.could = {"GPU-a", "GPU-b"};
    turn.free = {"GPU-b"};
    return turn;
}

wire::JobOpening opening_to_look() {
    return {.job = "j", .gpus = {.look = true, .count = 2}};
}

wire::JobUsage some_usage() {
    wire::JobUsage usage{.gpus = 2, .duration_ms = 1000, .host = "h"};
    for (const auto& figure : wire::all_figures()) {
        usage.figures.push_back({.figure = figure.figure,
                                 .mean = 1,
                                 .peak = 2,
                                 .seconds = 1,
                                 .peak_gpu = figure.of_gpu ? 0 : -1});
    }
    using enum wire::Finding::Kind;
    for (const auto kind :
         {idle, low_power, thermal, hw_slowdown, slow_rank, memory_grows, disk_full, no_figures}) {
        usage.findings.push_back({.kind = kind,
                                  .gpu = 0,
                                  .rank = 1,
                                  .disk = "/data",
                                  .for_ms = 72'000,
                                  .about = "102 W of 700 W"});
    }
    return usage;
}

wire::JobOpening some_opening() {
    return {.job = "j",
            .env = {{"A", "\xff"}},
            .secrets = {{"S", "s"}},
            .unset = {"C"},
            .workdir = "/w",
            .user = "1000",
            .signal = SIGINT,
            .questions = {{.name = "q", .argv = {"sh", "\xff"}}},
            .ports = 2,
            .same_ports = {29500},
            .token = "t",
            .owner = "u@m",
            .gpus = {.count = 2, .priority = -1, .number = 3, .in_use_mib = 1024, .taken = {some_hold()}}};
}

wire::JobPolicy some_policy() {
    return {.parts = {{.node = "node-0", .hosts_remote_ranks = true, .ranks = 2}, {.node = "node-1"}},
            .max_restarts = 3,
            .stall_ms = 5,
            .stop_stalled = true,
            .suspect_ms = 30000,
            .stop_hung = true,
            .idle_ms = 6,
            .stop_idle = true,
            .ranks_first = true,
            .ready = "http://:8000/health",
            .members = {0},
            .min_nodes = 1,
            .relaunch = "{}"};
}

wire::Hang some_hang() {
    return {.attempt = 1,
            .cause = "stopped",
            .node = "node-1",
            .rank = 2,
            .where = "\xff",
            .awaits = "step (train.py:7)",
            .restart_helps = "yes",
            .text = "t",
            .hint = "h"};
}

wire::JobStart some_start() {
    return {.policy = some_policy(),
            .part = 1,
            .stays = true,
            .argv = {"sh", "\xff"},
            .env = {{"E", "v"}},
            .env_defaults = {{"D", "v"}},
            .files = {{"/run/f", "x"}},
            .rank_command = {"x"},
            .rank_env = {{{"T", "v"}}, {}},
            .local_rank_at = 1,
            .local_rank_option = "--local-rank",
            .rank_secrets = true,
            .leaves_servers = true,
            .before = {.waited_ms = 5000, .held_ms = 70}};
}

wire::JobFailure some_failure() {
    return {.node = "node-1",
            .rank = 1,
            .local_rank = 1,
            .code = 139,
            .signal = 11,
            .oom = true,
            .tail = "\xfe",
            .cause = "c",
            .advice = "a",
            .finding = "f"};
}

wire::JobResult some_result() {
    return {.code = 1,
            .ranks = 2,
            .rank_numbers = {0, 1},
            .signal = 9,
            .stopped = true,
            .reason = "stop",
            .failures = {some_failure()},
            .attempt = 1,
            .first = some_failure(),
            .left_out = {"n"},
            .usage = some_usage()};
}

void add_events(std::vector<WireWord>& words) {
    using enum wire::JobEvent::Type;
    for (const auto type :
         {prepared, turn, started, rank_failed, rank_done, silent, speaks, idle, busy, reported, ready, ended,
          detached, exited, error, ranks_gone, still, goes_on, examined}) {
        using enum wire::GpuTurn::State;
        for (const auto state : {none, taken, fits, waits}) {
            if (state == waits || type == turn) {
                words.push_back(
                    {"parse_job_event",
                     wire::job_event(
                         {.type = type,
                          .attempt = 1,
                          .facts = {.ports = {29500}, .answers = {{"q", 1, "\xff"}}, .gpus = turn_in(state)},
                          .turn = turn_in(state),
                          .pid = 9,
                          .gpus = 2,
                          .rank = 3,
                          .failure = some_failure(),
                          .result = some_result(),
                          .address = "http://10.0.0.1:8000",
                          .ranks = {{.rank = 1,
                                     .pid = 7,
                                     .threads = {{.name = "MainThread", .frames = {{"f", "a.py", 1}}}}}},
                          .node = {.addresses = {"10.0.0.2"},
                                   .gpu_faults = {"GPU 3 is faulty"},
                                   .unanswered = {"10.0.0.3"}},
                          .error = {ErrorKind::node, "", "m", "h"}})});
            }
        }
    }
}

void add_orders(std::vector<WireWord>& words) {
    using enum wire::JobCommand::Type;
    for (const auto type :
         {ping, line, take, stop, halt, begin, report, over, detach, rest, look, stacks, examine, hang}) {
        const bool bears_first = type == stop || type == over;
        words.push_back(
            {"parse_job_command",
             wire::job_command_line({.type = type,
                                     .grace_ms = 5,
                                     .signal = type == stop ? SIGUSR1 : 0,
                                     .attempt = 1,
                                     .takes_over = type == halt,
                                     .first = bears_first ? std::optional(some_failure()) : std::nullopt,
                                     .start = type == begin ? std::optional(some_start()) : std::nullopt,
                                     .hang = type == hang ? std::optional(some_hang()) : std::nullopt,
                                     .pause_ms = type == examine ? 10000 : 0,
                                     .asks_ras = type == examine,
                                     .number = 5,
                                     .order = 6})});
    }
}

wire::FlightRecord some_flight() {
    return {.problem = "p",
            .silent = true,
            .version = "2.10",
            .groups = {{.name = "0",
                        .description = "default_pg",
                        .ranks = {0, 1},
                        .enqueued = 7,
                        .completed = 6,
                        .waits = true,
                        .first = {.record = 9,
                                  .sequence = 7,
                                  .p2p = true,
                                  .name = "nccl:send 0->1",
                                  .state = "scheduled",
                                  .sizes = "[[4]] Float",
                                  .elements = 4,
                                  .waits_ms = 60000,
                                  .frame = {"step", "train.py", 7}}}}};
}

void add_stacks(std::vector<WireWord>& words) {
    using enum wire::RankStack::State;
    for (const auto state : {running, sleeping, in_kernel, stopped, traced, ending, ended}) {
        words.push_back(
            {"parse_stacks_word", wire::rank_stack_line({.rank = 3,
                                                         .pid = 12,
                                                         .command = "python3 train.py",
                                                         .state = state,
                                                         .waits_in = "futex_wait",
                                                         .cpu_percent = 99,
                                                         .tree_cpu_percent = 120,
                                                         .io_bytes = -1,
                                                         .reads = "/data/0",
                                                         .thread_count = 2,
                                                         .silent_ms = 60000,
                                                         .moves = true,
                                                         .rests_ms = 10000,
                                                         .tool = "py-spy",
                                                         .threads = {{.name = "MainThread",
                                                                      .id = 12,
                                                                      .active = true,
                                                                      .holds_gil = true,
                                                                      .frames = {{"step", "train.py", 7}}}},
                                                         .children = {{.pid = 13,
                                                                       .state = "sleeping",
                                                                       .waits_in = "pipe_read",
                                                                       .frames = {{"get", "data.py", 3}}}},
                                                         .lines = {"\xff"},
                                                         .problem = "p",
                                                         .advice = "a",
                                                         .flight = some_flight()})});
    }
    wire::RasReport report{.problem = "p", .version = "2.30.7", .asked_ms = 1000, .moves = true};
    using Kind = wire::RasRank::Kind;
    for (const auto kind :
         {Kind::behind, Kind::gone, Kind::unresponsive, Kind::dead, Kind::failed, Kind::ahead}) {
        report.ranks.push_back({.kind = kind,
                                .communicator = "0xa:0xb",
                                .rank = 1,
                                .size = 2,
                                .host = "10.0.0.2",
                                .pid = 411,
                                .operation = "AllReduce",
                                .count = 3,
                                .most = 4,
                                .waits = true});
    }
    words.push_back({"parse_stacks_word", wire::stacks_told_line(report)});
}

} // namespace

std::vector<WireWord> job_words() {
    wire::JobRecord record{.version = {3, 5}, .attempt = 1, .leaving = {1}};
    record.policy.parts = {{.node = "n"}, {.node = "m", .lost = true}};
    const wire::JobSummary summary{.job = "j",
                                   .running = true,
                                   .started_ms = 1,
                                   .duration_ms = 2,
                                   .argv = {"a"},
                                   .result = some_result(),
                                   .policy = some_policy(),
                                   .detached = true,
                                   .lease_ms = 30000,
                                   .token = "t",
                                   .owner = "u@m",
                                   .units = {some_hold().unit},
                                   .ready = "http://10.0.0.1:8000",
                                   .hang = some_hang(),
                                   .before = {.waited_ms = 5000, .held_ms = 70}};
    auto ended = summary;
    ended.running = false;
    wire::JobHistory history{.started_ms = 1, .step_ms = 2000};
    for (const auto& figure : wire::all_figures()) {
        history.curves.push_back(
            {.figure = figure.figure,
             .gpu = figure.of_gpu ? 0 : -1,
             .points = {wire::CurvePoint{.least = 1, .mean = 2, .most = 3}, std::nullopt}});
    }
    std::vector<WireWord> words{
        {"parse_job_opening", json(some_opening()).dump()},
        {"parse_job_start", json(some_start()).dump()},
        {"parse_job_summary", json(summary).dump()},
        {"parse_job_summary", json(ended).dump()},
        {"parse_job_result", json(some_result()).dump()},
        {"parse_job_query", wire::job_query({.job = "j",
                                             .position = 24,
                                             .to_the_end = false,
                                             .output = false,
                                             .rank = 1,
                                             .tail = 2,
                                             .since_ms = 3,
                                             .signal = SIGINT})},
        {"parse_job_history", wire::job_history_line(history)},
        {"parse_link_greeting", wire::link_greeting({.part = 1, .term = 3})},
        {"parse_link_ping", wire::link_ping({.term = 3,
                                             .number = 4,
                                             .leads = true,
                                             .resigns = true,
                                             .wants_record = true,
                                             .record = record})},
        {"parse_link_pong",
         wire::link_pong({.term = 3, .number = 4, .attempt = 1, .version = {3, 5}, .record = record})},
        {"parse_ready_probe", wire::ReadyProbe{.http = true, .port = 8000, .path = "/health"}.text()},
        {"parse_ready_probe", wire::ReadyProbe{.port = 8000}.text()}};
    add_events(words);
    add_orders(words);
    words.push_back({"parse_job_opening", json(opening_to_look()).dump()});
    words.push_back({"parse_job_event", wire::job_event({.type = wire::JobEvent::Type::turn,
                                                         .turn = turn_of_one_that_looks()})});
    const wire::GpuReport report{.driver = "550.1",
                                 .units = {{.unit = some_hold().unit,
                                            .memory_used_mib = 12.5,
                                            .memory_total_mib = 24000,
                                            .utilization_percent = 3,
                                            .temperature_c = 31,
                                            .power_w = 70,
                                            .problem = "it has vanished",
                                            .hold = some_hold()}},
                                 .line = {{.who = some_hold().by, .wanted = 2, .priority = -1}},
                                 .topology = "\tGPU0\n",
                                 .problem = "nvidia-smi is slow"};
    add_stacks(words);
    words.push_back({"parse_gpu_report", wire::gpu_report_line(report)});
    return words;
}

} // namespace dockdist
