#include "unit/wire/word_readers.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/check.hpp"
#include "shared/wire/check_facts.hpp"
#include "shared/wire/check_links.hpp"
#include "shared/wire/check_mounts.hpp"
#include "shared/wire/exec_session.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/gpus.hpp"
#include "shared/wire/history.hpp"
#include "shared/wire/job_query.hpp"
#include "shared/wire/join.hpp"
#include "shared/wire/probe.hpp"
#include "shared/wire/ready_probe.hpp"
#include "shared/wire/relay.hpp"
#include "shared/wire/sample.hpp"
#include "shared/wire/setup.hpp"
#include "shared/wire/stacks.hpp"
#include "shared/wire/succession.hpp"
#include "shared/wire/tree.hpp"
#include "shared/wire/tunnel.hpp"

#include <cstdint>
#include <utility>

namespace dockdist::testing {
namespace {

using namespace dockdist::wire;

constexpr int most_enumerators = 128;

// As the compiler names it; "(Type)77" for what is no enumerator.
template <class E, E value>
constexpr std::string_view compilers_name() {
    const std::string_view text = __PRETTY_FUNCTION__;
    const auto begin = text.find("value = ") + 8;
    return text.substr(begin, text.rfind(']') - begin);
}

std::string without_space(std::string_view name) {
    constexpr std::string_view space = "dockdist::wire::";
    return std::string(name.starts_with(space) ? name.substr(space.size()) : name);
}

template <class E, int... values>
std::map<int, std::string> enumerators(std::integer_sequence<int, values...>) {
    std::map<int, std::string> names;
    const auto add = [&names](int value, std::string_view name) {
        if (!name.starts_with('(')) {
            names[value] = without_space(name);
        }
    };
    (add(values, compilers_name<E, static_cast<E>(values)>()), ...);
    return names;
}

template <class E>
const std::map<int, std::string>& names_of() {
    static const auto names = enumerators<E>(std::make_integer_sequence<int, most_enumerators>());
    return names;
}

template <class E>
void see(KindsSeen& seen, E value) {
    seen.insert(names_of<E>().at(static_cast<int>(value)));
}

void see_usage(KindsSeen& seen, const JobUsage& usage) {
    for (const auto& use : usage.figures) {
        see(seen, use.figure);
    }
    for (const auto& finding : usage.findings) {
        see(seen, finding.kind);
    }
}

template <class Parse>
WordReader reader(Parse parse) {
    return [parse](std::string_view bytes, KindsSeen&) -> Status {
        const auto read = parse(bytes);
        return read ? ok : Status(read.error());
    };
}

template <class Parse, class See>
WordReader reader(Parse parse, See look) {
    return [parse, look](std::string_view bytes, KindsSeen& seen) -> Status {
        const auto read = parse(bytes);
        TRY(read);
        look(seen, *read);
        return ok;
    };
}

// Of a detached job of two parts.
template <class Value>
WordReader of_two_parts(Result<Value> (*parse)(std::string_view, std::size_t)) {
    return reader([parse](std::string_view bytes) { return parse(bytes, 2); });
}

template <class Decoder, class See>
WordReader stream_reader(See look) {
    return [look](std::string_view bytes, KindsSeen& seen) -> Status {
        Decoder decoder;
        decoder.feed(bytes);
        while (true) {
            const auto next = decoder.next();
            TRY(next);
            if (!*next) {
                return ok;
            }
            look(seen, **next);
        }
    };
}

Status read_tunnel(std::string_view bytes, KindsSeen& seen) {
    TunnelDecoder decoder;
    while (true) {
        const auto next = decoder.next(bytes);
        TRY(next);
        if (!*next) {
            return ok;
        }
        see(seen, (*next)->kind);
    }
}

Status read_samples(std::string_view bytes, KindsSeen&) {
    SampleReader samples;
    for (const auto& line : split(bytes, '\n')) {
        const auto heard = line.empty() ? Result<std::optional<Sample>>() : samples.hear(line);
        TRY(heard);
    }
    return samples.has_facts() ? ok : Status(Error{ErrorKind::protocol, "", "no facts", ""});
}

void see_outcomes(KindsSeen& seen, const LinksMeet::Answer& answer) {
    for (const auto& link : answer.links) {
        see(seen, link.outcome);
    }
}
template <class Answer>
void see_outcomes(KindsSeen&, const Answer&) {}

// Whether the word is Question's, or the answer to it, and how its reader likes it.
template <class Question>
bool is_asked(std::string_view line, KindsSeen& seen, Status& status) {
    const auto asked = parse_question(line);
    if (!asked || asked->ask != Question::ask) {
        return false;
    }
    const auto read = read_question<Question>(*asked);
    status = read ? ok : Status(read.error());
    seen.insert(std::string("ask ") + Question::ask);
    return true;
}

template <class Question>
bool is_answered(std::string_view line, KindsSeen& seen, Status& status) {
    if (line.find(std::string("\"answer\":\"") + Question::ask + "\"") == std::string_view::npos) {
        return false;
    }
    const auto answer = parse_answer<Question>(line);
    if (answer) {
        see_outcomes(seen, *answer);
    }
    // The node's own error is an answer, too.
    status = answer || answer.error().kind != ErrorKind::protocol ? ok : Status(answer.error());
    seen.insert(std::string("answer ") + Question::ask);
    return true;
}

template <class... Questions>
struct Asked {
    static Status question(std::string_view line, KindsSeen& seen) {
        Status status = Error{ErrorKind::protocol, "", "an unknown question", ""};
        (void)(is_asked<Questions>(line, seen, status) || ...);
        return status;
    }
    static Status answer(std::string_view line, KindsSeen& seen) {
        Status status = Error{ErrorKind::protocol, "", "an unknown answer", ""};
        (void)(is_answered<Questions>(line, seen, status) || ...);
        return status;
    }
};
using OfCheck = Asked<Hello, FactsQuestion, LogInsQuestion, LookForTokens, ForgetTokens, LinksListen,
                      LinksMeet, LinksSend>;

template <class E>
std::pair<const std::string, KindsSeen> kinds_of() {
    KindsSeen kinds;
    std::string name;
    for (const auto& [value, kind] : names_of<E>()) {
        name = kind.substr(0, kind.rfind("::"));
        kinds.insert(kind);
    }
    return {name, kinds};
}

} // namespace

const std::map<std::string, KindsSeen>& word_kinds() {
    static const std::map<std::string, KindsSeen> kinds{
        kinds_of<LinkOutcome>(),         kinds_of<Frame::Kind>(),
        kinds_of<SessionFrame::Kind>(),  kinds_of<GpuTurn::State>(),
        kinds_of<JoinMessage::Type>(),   kinds_of<JobEvent::Type>(),
        kinds_of<JobCommand::Type>(),    kinds_of<Figure>(),
        kinds_of<Finding::Kind>(),       kinds_of<RelayMessage::Type>(),
        kinds_of<RankStack::State>(),    kinds_of<RasRank::Kind>(),
        kinds_of<TreeEntry::Type>(),     kinds_of<SyncMessage::Kind>(),
        kinds_of<TunnelFailure::Kind>(), kinds_of<TunnelKind>()};
    return kinds;
}

const std::map<std::string, WordReader>& word_readers() {
    static const std::map<std::string, WordReader> readers{
        {"parse_join_request", reader(parse_join_request)},
        {"parse_join_message",
         reader(parse_join_message, [](auto& seen, const auto& message) { see(seen, message.type); })},
        {"parse_members", reader(parse_members)},
        {"parse_members_notice", reader(parse_members_notice)},
        {"parse_question", OfCheck::question},
        {"parse_answer", OfCheck::answer},
        {"parse_probe_message", reader(parse_probe_message)},
        {"parse_setup_line", reader(parse_setup_line)},
        {"parse_kept_history", reader(parse_kept_history)},
        {"parse_setup_state", reader(parse_setup_state)},
        {"parse_job_opening", reader(parse_job_opening)},
        {"parse_job_start", reader(parse_job_start)},
        {"parse_job_summary",
         reader(parse_job_summary,
                [](auto& seen, const auto& summary) { see_usage(seen, summary.result.usage); })},
        {"parse_job_result",
         reader(parse_job_result, [](auto& seen, const auto& result) { see_usage(seen, result.usage); })},
        {"parse_job_event", reader(parse_job_event,
                                   [](auto& seen, const auto& event) {
                                       see(seen, event.type);
                                       if (event.type == JobEvent::Type::turn) {
                                           see(seen, event.turn.state);
                                       }
                                   })},
        {"parse_job_command",
         reader(parse_job_command, [](auto& seen, const auto& command) { see(seen, command.type); })},
        {"parse_job_query", reader(parse_job_query)},
        {"parse_job_history", reader(parse_job_history,
                                     [](auto& seen, const auto& history) {
                                         for (const auto& curve : history.curves) {
                                             see(seen, curve.figure);
                                         }
                                     })},
        {"parse_gpu_report", reader(parse_gpu_report)},
        {"parse_stacks_word", reader(parse_stacks_word,
                                     [](auto& seen, const auto& word) {
                                         if (!word.over) {
                                             see(seen, word.stack.state);
                                         }
                                         for (const auto& rank : word.ras.ranks) {
                                             see(seen, rank.kind);
                                         }
                                     })},
        {"parse_ready_probe", reader(parse_ready_probe)},
        {"parse_link_greeting", of_two_parts(parse_link_greeting)},
        {"parse_link_ping", of_two_parts(parse_link_ping)},
        {"parse_link_pong", of_two_parts(parse_link_pong)},
        {"parse_relay_opening", reader(parse_relay_opening)},
        {"parse_relay_image", reader(parse_relay_image)},
        {"parse_relay_message",
         reader(parse_relay_message, [](auto& seen, const auto& message) { see(seen, message.type); })},
        {"parse_relay_piece", reader(parse_relay_piece)},
        {"parse_relay_peers", reader(parse_relay_peers)},
        {"parse_relay_request", reader(parse_relay_request)},
        {"parse_relay_files", reader(parse_relay_files)},
        {"parse_relay_digest", reader(parse_relay_digest)},
        {"parse_session_ask", reader(parse_session_ask)},
        {"parse_sync_opening", reader(parse_sync_opening)},
        {"parse_tunnel_ask", reader(parse_tunnel_ask)},
        {"parse_tunnel_target", reader(parse_tunnel_target)},
        {"parse_tunnel_failure",
         reader(parse_tunnel_failure, [](auto& seen, const auto& failure) { see(seen, failure.kind); })},
        {"parse_header", reader(parse_header)},
        {"FrameDecoder",
         stream_reader<FrameDecoder>([](auto& seen, const auto& frame) { see(seen, frame.kind); })},
        {"SessionFrameDecoder",
         stream_reader<SessionFrameDecoder>([](auto& seen, const auto& frame) { see(seen, frame.kind); })},
        {"SyncDecoder", stream_reader<SyncDecoder>([](auto& seen, const auto& message) {
             see(seen, message.kind);
             see(seen, message.type);
         })},
        {"TunnelDecoder", read_tunnel},
        {"SampleReader", read_samples}};
    return readers;
}

} // namespace dockdist::testing
