// Every line and frame that the client, the nodes and the relays send each other. What is read can be sent
// again, and then says the same.
#include "fakes/check_lines.hpp"
#include "fuzz/fuzz.hpp"
#include "wire/check.hpp"
#include "wire/check_facts.hpp"
#include "wire/check_links.hpp"
#include "wire/check_mounts.hpp"
#include "wire/exec_session.hpp"
#include "wire/frame.hpp"
#include "wire/gpus.hpp"
#include "wire/job.hpp"
#include "wire/job_query.hpp"
#include "wire/join.hpp"
#include "wire/probe.hpp"
#include "wire/ready_probe.hpp"
#include "wire/relay.hpp"
#include "wire/succession.hpp"
#include "wire/tree.hpp"

#include <array>

namespace {

using namespace dockdist;
using nlohmann::json;

// `read` gives a Result, `write` a text that `read` takes.
template <class Read, class Write>
void again(std::string_view text, Read read, Write write) {
    const auto first = read(text);
    if (!first) {
        fuzz::require(!first.error().message.empty(), "an error says what is wrong");
        return;
    }
    const auto line = write(*first);
    const auto second = read(std::string_view(line));
    fuzz::require(second.has_value(), "what was read can be sent again");
    fuzz::require_equal(line, write(*second), "what was read and sent again says the same");
}

template <class T>
std::string dumped(const T& value) {
    return json(value).dump();
}

template <class Question>
void question(std::string_view line) {
    const auto read = [](std::string_view text) -> Result<Question> {
        const auto asked = wire::parse_question(text);
        return asked ? wire::read_question<Question>(*asked) : asked.error();
    };
    again(line, read, [](const Question& asked) { return wire::question_line(asked); });
    const auto read_answer = [](std::string_view text) { return wire::parse_answer<Question>(text); };
    again(line, read_answer,
          [](const typename Question::Answer& answer) { return wire::answer_line<Question>(answer); });
}

std::string join_line(const wire::JoinMessage& message) {
    using Type = wire::JoinMessage::Type;
    switch (message.type) {
    case Type::hello:
        return wire::hello_line(message.record);
    case Type::want:
        return wire::want_line();
    case Type::ready:
        return wire::ready_record_line(message.record, message.members_hash);
    case Type::error:
        return wire::error_line(message.error, message.unreached);
    default:
        return R"({"type":"something"})";
    }
}

std::string probe_line(const wire::ProbeMessage& message) {
    return message.line  ? wire::probe_line(message.local_rank, *message.line)
           : message.end ? wire::probe_end_line(message.local_rank, *message.end)
                         : wire::rdma_line(*message.rdma);
}

// Whatever the slicing: the same frames, the same end.
template <class Decoder, class Show>
void stream(std::string_view bytes, Show show) {
    std::array<std::string, 2> seen;
    for (std::size_t way = 0; way < seen.size(); ++way) {
        Decoder decoder;
        bool failed = false;
        const auto take = [&](std::string_view piece) {
            decoder.feed(piece);
            while (!failed) {
                const auto next = decoder.next();
                if (!next) {
                    failed = true;
                    seen[way] += "error: " + next.error().message;
                } else if (!*next) {
                    break;
                } else {
                    seen[way] += show(**next);
                }
            }
        };
        way == 0 ? take(bytes) : fuzz::in_pieces(bytes, take);
    }
    fuzz::require_equal(seen[0], seen[1], "a stream says the same however it is sliced");
}

void frames(std::string_view bytes) {
    stream<wire::FrameDecoder>(bytes, [](const wire::Frame& frame) {
        fuzz::require(frame.payload.size() <= wire::max_payload && frame.rank >= -1 &&
                          frame.rank <= wire::max_rank,
                      "a frame keeps to its limits");
        return wire::encode(frame);
    });
}

void sync_messages(std::string_view bytes) {
    stream<wire::SyncDecoder>(bytes, [](const wire::SyncMessage& message) {
        fuzz::require(message.name.empty() || wire::is_tree_name(message.name),
                      "no name leads out of its folder");
        std::string encoded;
        wire::append(encoded, message);
        wire::SyncDecoder again;
        again.feed(encoded);
        const auto back = again.next();
        fuzz::require(back && *back && **back == message, "a message that was read is written as it was");
        return encoded;
    });
}

// What a client says in a session, and what a job's service answers.
void sessions(std::string_view bytes) {
    stream<wire::SessionFrameDecoder>(bytes, [](const wire::SessionFrame& frame) {
        fuzz::require(frame.input.size() <= wire::max_session_payload,
                      "a session's frame keeps to its limit");
        return wire::encode(frame);
    });
    again(bytes, wire::parse_session_ask, wire::session_ask);
    again(bytes, wire::parse_ready_probe, [](const wire::ReadyProbe& probe) { return probe.text(); });
    const int status = wire::http_status(bytes);
    fuzz::require(status >= -1 && status <= 999, "an answer's status is one");
}

void names(std::string_view text) {
    const auto both = fuzz::parts(text, 2);
    if (wire::is_tree_name(both[0])) {
        fuzz::require(("/" + both[0] + "/").find("/../") == std::string::npos && both[0].front() != '/' &&
                          both[0].find('\0') == std::string::npos,
                      "a tree's name stays in the tree");
        (void)wire::stays_in_tree(both[0], both[1]);
    }
    (void)wire::is_sha256_digest(text);
    (void)wire::is_job_id(text);
    (void)wire::is_mount_token(text);
}

// The parts of a detached job to each other.
void successions(std::string_view line) {
    constexpr std::size_t parts = 2;
    const auto of_two = [](auto parse) {
        return [parse](std::string_view text) { return parse(text, parts); };
    };
    again(line, of_two(wire::parse_link_greeting), wire::link_greeting);
    again(line, of_two(wire::parse_link_ping), wire::link_ping);
    again(line, of_two(wire::parse_link_pong), wire::link_pong);
}

constexpr std::array<fuzz::Read, 23> kinds{
    [](std::string_view line) { again(line, wire::parse_join_request, dumped<wire::JoinRequest>); },
    [](std::string_view line) { again(line, wire::parse_join_message, join_line); },
    [](std::string_view line) {
        again(line, wire::parse_members, wire::members_list);
        again(line, wire::parse_members_notice, wire::members_notice_line);
    },
    [](std::string_view line) { again(line, wire::parse_job_opening, dumped<wire::JobOpening>); },
    [](std::string_view line) { again(line, wire::parse_job_start, dumped<wire::JobStart>); },
    [](std::string_view line) { again(line, wire::parse_job_summary, dumped<wire::JobSummary>); },
    [](std::string_view line) { again(line, wire::parse_job_result, dumped<wire::JobResult>); },
    [](std::string_view line) { again(line, wire::parse_job_event, wire::job_event); },
    [](std::string_view line) { again(line, wire::parse_job_command, wire::job_command_line); },
    [](std::string_view line) { again(line, wire::parse_job_query, wire::job_query); },
    [](std::string_view line) { again(line, wire::parse_probe_message, probe_line); },
    [](std::string_view line) {
        const auto write = [](const auto& value) { return wire::to_line(value); };
        again(line, wire::parse_relay_opening, write);
        again(line, wire::parse_relay_image, write);
        again(line, wire::parse_relay_message, write);
        again(line, wire::parse_relay_piece, write);
        again(line, wire::parse_relay_peers, write);
        again(line, wire::parse_relay_request, write);
        again(line, wire::parse_relay_files, write);
        again(line, wire::parse_relay_digest, write);
    },
    [](std::string_view line) { again(line, wire::parse_sync_opening, wire::sync_opening); },
    question<wire::Hello>,
    question<wire::FactsQuestion>,
    question<wire::LookForTokens>,
    [](std::string_view line) {
        question<wire::LinksListen>(line);
        question<wire::LinksMeet>(line);
        question<wire::LinksSend>(line);
    },
    question<wire::ForgetTokens>,
    frames,
    sync_messages,
    names,
    sessions,
    successions};

std::vector<std::pair<std::size_t, std::string>> lines() {
    const wire::NodeRecord record{.node = "node-0",
                                  .rank = 1,
                                  .address = "10.0.0.1",
                                  .interface = "eth0",
                                  .hostname = "gpu-0",
                                  .ssh_port = 2222,
                                  .slots = 8,
                                  .gpus = 8,
                                  .user = "root",
                                  .user_key = "ssh-ed25519 AAAA",
                                  .host_key = "ssh-ed25519 BBBB",
                                  .clock_ms = 7};
    const std::string digest = "sha256:" + std::string(64, 'a');
    const wire::JobOpening opening{.job = "j",
                                   .env = {{"A", "\xff"}},
                                   .secrets = {{"S", "s"}},
                                   .unset = {"C"},
                                   .workdir = "/w",
                                   .user = "1000",
                                   .questions = {{.name = "q", .argv = {"sh", "\xff"}}},
                                   .ports = 2,
                                   .same_ports = {29500},
                                   .token = "t",
                                   .owner = "u@m",
                                   .gpus = {.count = 2, .priority = -1, .number = 3, .in_use_mib = 1024}};
    const wire::GpuHold hold{.unit = {.id = "GPU-a", .index = 1, .name = "NVIDIA L4"},
                             .by = {.cluster = "c", .node = "n", .job = "j", .owner = "u@m", .age_s = 7},
                             .outside = true};
    const wire::GpuWaiter waiter{.who = hold.by, .wanted = 2, .priority = 3};
    const wire::GpuTurn turn{.state = wire::GpuTurn::State::waits,
                             .order = 2,
                             .number = 4,
                             .units = {hold.unit},
                             .together = "NVLink",
                             .wanted = 1,
                             .place = 2,
                             .held = {hold},
                             .ahead = {waiter},
                             .left_out = {"GPU 1 \xff"}};
    const wire::JobPolicy policy{
        .parts = {{.node = "node-0", .hosts_remote_ranks = true, .ranks = 2}, {.node = "node-1"}},
        .max_restarts = 3,
        .stall_ms = 5,
        .members = {0},
        .min_nodes = 1,
        .relaunch = "{}"};
    const wire::JobStart start{.policy = policy,
                               .part = 1,
                               .stays = true,
                               .argv = {"sh", "\xff"},
                               .env = {{"E", "v"}},
                               .files = {{"/run/f", "x"}},
                               .rank_command = {"x"},
                               .rank_env = {{{"T", "v"}}, {}},
                               .local_rank_at = 1,
                               .rank_secrets = true};
    const wire::JobFailure failure{.node = "node-1",
                                   .rank = 1,
                                   .local_rank = 1,
                                   .code = 139,
                                   .signal = 11,
                                   .oom = true,
                                   .tail = "\xfe",
                                   .cause = "c",
                                   .advice = "a",
                                   .finding = "f"};
    const wire::JobResult result{.code = 1,
                                 .ranks = 2,
                                 .rank_numbers = {0, 1},
                                 .stopped = true,
                                 .reason = "stop",
                                 .failures = {failure},
                                 .attempt = 1,
                                 .first = failure,
                                 .left_out = {"n"}};
    const wire::JobSummary summary{.job = "j",
                                   .started_ms = 1,
                                   .duration_ms = 2,
                                   .argv = {"a"},
                                   .result = result,
                                   .policy = policy,
                                   .detached = true,
                                   .token = "t",
                                   .owner = "u@m",
                                   .units = {hold.unit}};
    wire::JobRecord record_of_job{.version = {3, 5}, .attempt = 1, .leaving = {1}};
    record_of_job.policy.parts = {{.node = "n"}, {.node = "m", .lost = true}};
    std::vector<std::pair<std::size_t, std::string>> lines{
        {0, json(wire::JoinRequest{.cluster = "c", .node = "n", .user = "u"}).dump()},
        {1, wire::hello_line(record)},
        {1, wire::ready_record_line(record, "0123456789abcdef")},
        {1, wire::error_line({ErrorKind::node, "", "m", "h"}, {{"n", "c"}})},
        {2, wire::members_list({.cluster = "c", .nodes = {record, record}})},
        {2, wire::members_notice_line({.sha256 = "ab", .giver = record})},
        {3, json(opening).dump()},
        {4, json(start).dump()},
        {5, json(summary).dump()},
        {6, json(result).dump()},
        {8, wire::job_command_line({.type = wire::JobCommand::Type::stop, .grace_ms = 5, .first = failure})},
        {8, wire::job_command_line({.type = wire::JobCommand::Type::begin, .attempt = 1, .start = start})},
        {8, wire::job_command_line({.type = wire::JobCommand::Type::line, .number = 5, .order = 6})},
        {8, wire::job_command_line({.type = wire::JobCommand::Type::take, .order = 7})},
        {22, wire::link_greeting({.part = 1, .term = 3})},
        {22, wire::link_ping({.term = 3, .number = 4, .leads = true, .record = record_of_job})},
        {22,
         wire::link_pong({.term = 3, .number = 4, .attempt = 1, .version = {3, 5}, .record = record_of_job})},
        {9, wire::job_query({.job = "j", .rank = 1, .tail = 2, .since_ms = 3})},
        {10, wire::probe_line(3, {{"rank", 11}})},
        {10, wire::probe_end_line(1, {.code = 137, .signal = 9, .message = "m", .hint = "h"})},
        {10, wire::rdma_line({"mlx5_0"})},
        {11, wire::to_line(wire::RelayOpening{.token = "t", .address = "10.0.0.1"})},
        {11, wire::to_line(wire::RelayImage{
                 .manifest = "{}", .media_type = "application/x", .blobs = {{digest, 7, 2}}})},
        {11,
         wire::to_line(wire::RelayMessage{.engine_port = 4000, .address = "10.0.0.1", .peer_port = 4001})},
        {11, wire::to_line(wire::RelayMessage{.type = wire::RelayMessage::Type::want,
                                              .want = {.digest = digest, .offset = 3}})},
        {11, wire::to_line(wire::RelayPiece{digest, 5})},
        {11, wire::to_line(wire::RelayPiece{.length = 5, .file = 3})},
        {11, wire::to_line(wire::RelayPeers{.upstreams = {{2, std::string(64, 'a'), "10.0.0.1 4001"}},
                                            .downstreams = {{3, std::string(64, 'b'), ""}}})},
        {11, wire::to_line(wire::RelayRequest{.digest = digest, .offset = 3})},
        {12, wire::sync_opening({.user = "1000", .workdir = "/workspace"})},
        {13, wire::question_line(wire::Hello{})},
        {13, wire::answer_line<wire::Hello>(wire::Hello::Answer{.pid = 7})},
        {21, wire::encode(wire::SessionFrame{.kind = wire::SessionFrame::Kind::input, .input = "ls\n"}) +
                 wire::encode(wire::SessionFrame{.kind = wire::SessionFrame::Kind::window,
                                                 .window = {.rows = 24, .columns = 80}})},
        {21, wire::session_ask({.lease_ms = 5, .terminal = wire::WindowSize{.rows = 24, .columns = 80}})},
        {21, "http://:8000/health"},
        {21, "HTTP/1.1 200 OK\r\n"},
        {17, wire::question_line(wire::ForgetTokens{})},
        {17, wire::answer_line("forget", Error{ErrorKind::node, "", "m", "h"})}};

    using Type = wire::JobEvent::Type;
    for (const auto type :
         {Type::prepared, Type::turn, Type::started, Type::rank_failed, Type::silent, Type::speaks,
          Type::reported, Type::ready, Type::ended, Type::detached, Type::exited, Type::error}) {
        lines.emplace_back(
            7, wire::job_event({.type = type,
                                .attempt = 1,
                                .facts = {.ports = {29500}, .answers = {{"q", 1, "\xff"}}, .gpus = turn},
                                .turn = turn,
                                .pid = 9,
                                .failure = failure,
                                .result = result,
                                .address = "http://10.0.0.1:8000",
                                .error = {ErrorKind::node, "", "m", "h"}}));
    }

    for (auto& [about, line] : check_lines()) { // their kinds stand together, in the same order
        constexpr std::size_t first = 14;
        lines.emplace_back(first + static_cast<std::size_t>(about), std::move(line));
    }
    return lines;
}

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    for (const auto& [kind, line] : lines()) {
        all.push_back(of_kind(kind, line));
    }
    std::string stream;
    for (const auto kind : {wire::Frame::Kind::output, wire::Frame::Kind::control, wire::Frame::Kind::pong}) {
        stream += wire::encode(
            {.kind = kind, .stream = 1, .rank = 3, .position = 24, .time_ms = 5, .payload = "some\n"});
    }
    all.push_back(of_kind(18, stream));
    std::string messages;
    using Kind = wire::SyncMessage::Kind;
    const wire::TreeEntry file{
        .name = "d/f", .type = wire::TreeEntry::Type::file, .mode = 0644, .size = 1, .time_ns = 3};
    for (const auto kind : {Kind::open, Kind::list, Kind::stat, Kind::fetch, Kind::barrier, Kind::entry,
                            Kind::hashed, Kind::warning, Kind::problem, Kind::done}) {
        wire::append(messages, {.kind = kind, .size = 1, .text = "/out"});
    }
    wire::append(messages, wire::to_message(Kind::file, file));
    wire::append(messages, {.kind = Kind::data, .text = "x"});
    wire::append(messages, {.kind = Kind::end_file, .size = 1});
    wire::append(messages, {.kind = Kind::link, .name = "d/l", .text = "../f"});
    all.push_back(of_kind(19, messages));
    all.push_back(of_kind(20, of_parts({"d/l", "../f"})));
    return all;
}
