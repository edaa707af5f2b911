// Every line and frame that the client, the nodes and the relays send each other. What is read can be sent
// again, and then says the same.
#include "fakes/wire_words.hpp"
#include "fuzz/fuzz.hpp"
#include "shared/wire/check.hpp"
#include "shared/wire/check_facts.hpp"
#include "shared/wire/check_links.hpp"
#include "shared/wire/check_mounts.hpp"
#include "shared/wire/exec_session.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/gpus.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/job_query.hpp"
#include "shared/wire/join.hpp"
#include "shared/wire/probe.hpp"
#include "shared/wire/ready_probe.hpp"
#include "shared/wire/relay.hpp"
#include "shared/wire/succession.hpp"
#include "shared/wire/tree.hpp"

#include <array>
#include <map>

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

// The kinds above, by the reader of what each is fed; other readers have targets of their own.
const std::map<std::string_view, std::size_t> kind_of_reader{
    {"parse_join_request", 0},   {"parse_join_message", 1},  {"parse_members", 2},
    {"parse_members_notice", 2}, {"parse_job_opening", 3},   {"parse_job_start", 4},
    {"parse_job_summary", 5},    {"parse_job_result", 6},    {"parse_job_event", 7},
    {"parse_job_command", 8},    {"parse_job_query", 9},     {"parse_probe_message", 10},
    {"parse_relay_opening", 11}, {"parse_relay_image", 11},  {"parse_relay_message", 11},
    {"parse_relay_piece", 11},   {"parse_relay_peers", 11},  {"parse_relay_request", 11},
    {"parse_relay_files", 11},   {"parse_relay_digest", 11}, {"parse_sync_opening", 12},
    {"FrameDecoder", 18},        {"SyncDecoder", 19},        {"SessionFrameDecoder", 21},
    {"parse_session_ask", 21},   {"parse_ready_probe", 21},  {"parse_link_greeting", 22},
    {"parse_link_ping", 22},     {"parse_link_pong", 22}};

// Questions of a check and their answers: each has a kind of its own, in the order of these.
constexpr std::array<std::string_view, 7> asked{"hello",      "facts",      "look",  "links-listen",
                                                "links-meet", "links-send", "forget"};

std::size_t kind_of_question(std::string_view line) {
    constexpr std::size_t first = 13;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (line.find("\"" + std::string(asked.at(i)) + "\"") != std::string_view::npos) {
            const std::size_t links = asked.at(i).starts_with("links") ? 3 : i; // they share one
            return first + (i > 5 ? 4 : links);
        }
    }
    return first;
}

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    for (const auto& word : wire_words()) {
        if (word.reader == "parse_question" || word.reader == "parse_answer") {
            all.push_back(of_kind(kind_of_question(word.bytes), word.bytes));
        } else if (const auto kind = kind_of_reader.find(word.reader); kind != kind_of_reader.end()) {
            all.push_back(of_kind(kind->second, word.bytes));
        }
    }
    all.push_back(of_kind(20, of_parts({"d/l", "../f"})));
    all.push_back(of_kind(21, "HTTP/1.1 200 OK\r\n"));
    return all;
}
