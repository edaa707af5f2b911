#include "shared/wire/check_links.hpp"

#include "shared/wire/fields.hpp"

namespace dockdist::wire {
namespace {

constexpr int most_streams = 16;

constexpr Words<LinkOutcome, 7> outcome_words{{{LinkOutcome::open, "open"},
                                               {LinkOutcome::refused, "refused"},
                                               {LinkOutcome::dropped, "dropped"},
                                               {LinkOutcome::unreachable, "unreachable"},
                                               {LinkOutcome::silent, "silent"},
                                               {LinkOutcome::large_lost, "large_lost"},
                                               {LinkOutcome::failed, "failed"}}};

} // namespace

std::string_view to_string(LinkOutcome outcome) {
    return word_of(outcome_words, outcome);
}

void link_token(auto& fields, auto& token) {
    fields.required("token", token);
    fields.check(token.size() == link_token_size, "a token has 32 characters");
}

void link_port(auto& fields, auto& port) {
    fields.required("port", port);
    fields.check(port >= 1 && port <= highest_port, "a port is from 1 to 65535");
}

void fields_of(auto& fields, Of<LinksListen> auto& question) {
    link_token(fields, question.token);
}
DEFINE_BY_FIELDS(LinksListen)

void fields_of(auto& fields, Of<LinksListen::Answer> auto& answer) {
    link_port(fields, answer.port);
}
DEFINE_BY_FIELDS(LinksListen::Answer)

void fields_of(auto& fields, Of<LinkPeer> auto& peer) {
    fields("node", peer.node);
    fields.required("address", peer.address);
    link_port(fields, peer.port);
}
DEFINE_BY_FIELDS(LinkPeer)

void fields_of(auto& fields, Of<LinkMeeting> auto& meeting) {
    fields.required("node", meeting.node);
    fields.required("outcome", named(meeting.outcome, outcome_words));
    fields("message", meeting.message);
    fields("latency_us", meeting.latency_us);
}
DEFINE_BY_FIELDS(LinkMeeting)

void fields_of(auto& fields, Of<LinksMeet> auto& question) {
    link_token(fields, question.token);
    fields.required("peers", question.peers);
}
DEFINE_BY_FIELDS(LinksMeet)

void fields_of(auto& fields, Of<LinksMeet::Answer> auto& answer) {
    fields.required("links", answer.links);
}
DEFINE_BY_FIELDS(LinksMeet::Answer)

void fields_of(auto& fields, Of<LinksSend> auto& question) {
    link_token(fields, question.token);
    fields.all_of(question.peer);
    fields("streams", question.streams);
    fields("ms", question.ms);
    fields.check(question.streams >= 1 && question.streams <= most_streams && question.ms >= 10 &&
                     question.ms <= 60000,
                 "streams are 1 to 16, ms 10 to 60000");
}
DEFINE_BY_FIELDS(LinksSend)

void fields_of(auto& fields, Of<LinksSend::Answer> auto& answer) {
    fields.required("bytes_per_second", answer.bytes_per_second);
    fields.required("segments", answer.segments);
    fields.required("sent_again", answer.sent_again);
}
DEFINE_BY_FIELDS(LinksSend::Answer)

} // namespace dockdist::wire
