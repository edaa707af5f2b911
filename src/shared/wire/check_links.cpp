#include "shared/wire/check_links.hpp"

#include "shared/core/text.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <array>

namespace dockdist::wire {
namespace {

using nlohmann::json;

constexpr int most_streams = 16;

struct OutcomeWord {
    LinkOutcome outcome;
    std::string_view word;
};
constexpr std::array<OutcomeWord, 7> outcome_words{{{LinkOutcome::open, "open"},
                                                    {LinkOutcome::refused, "refused"},
                                                    {LinkOutcome::dropped, "dropped"},
                                                    {LinkOutcome::unreachable, "unreachable"},
                                                    {LinkOutcome::silent, "silent"},
                                                    {LinkOutcome::large_lost, "large_lost"},
                                                    {LinkOutcome::failed, "failed"}}};

void read_outcome(ObjectReader& reader, LinkOutcome& outcome) {
    std::string word;
    reader.require("outcome");
    reader.read("outcome", word);
    const auto known = std::ranges::find(outcome_words, word, &OutcomeWord::word);
    if (known == outcome_words.end()) {
        return reader.fail("unknown \"outcome\": " + printable(word.substr(0, 80)));
    }
    outcome = known->outcome;
}

void read_token(ObjectReader& reader, std::string& token) {
    reader.require("token");
    reader.read("token", token);
    if (token.size() != link_token_size) {
        reader.fail("a token has 32 characters");
    }
}

void read_port(ObjectReader& reader, int& port) {
    reader.require("port");
    reader.read("port", port);
    if (port < 1 || port > 65535) {
        reader.fail("a port is from 1 to 65535");
    }
}

} // namespace

std::string_view to_string(LinkOutcome outcome) {
    return std::ranges::find(outcome_words, outcome, &OutcomeWord::outcome)->word;
}

void to_json(json& out, const LinksListen& question) {
    out = {{"token", question.token}};
}

void read_fields(ObjectReader& reader, LinksListen& question) {
    read_token(reader, question.token);
}

void to_json(json& out, const LinksListen::Answer& answer) {
    out = {{"port", answer.port}};
}

void read_fields(ObjectReader& reader, LinksListen::Answer& answer) {
    read_port(reader, answer.port);
}

void to_json(json& out, const LinkPeer& peer) {
    out = {{"node", peer.node}, {"address", peer.address}, {"port", peer.port}};
}

void read_fields(ObjectReader& reader, LinkPeer& peer) {
    reader.read("node", peer.node);
    reader.require("address");
    reader.read("address", peer.address);
    read_port(reader, peer.port);
}

void to_json(json& out, const LinkMeeting& meeting) {
    out = {{"node", meeting.node}, {"outcome", to_string(meeting.outcome)}, {"message", meeting.message}};
    if (meeting.latency_us) {
        out["latency_us"] = *meeting.latency_us;
    }
}

void read_fields(ObjectReader& reader, LinkMeeting& meeting) {
    reader.require("node");
    reader.read("node", meeting.node);
    read_outcome(reader, meeting.outcome);
    reader.read("message", meeting.message);
    if (reader.any("latency_us") != nullptr) {
        reader.read("latency_us", meeting.latency_us.emplace());
    }
}

void to_json(json& out, const LinksMeet& question) {
    out = {{"token", question.token}, {"peers", question.peers}};
}

void read_fields(ObjectReader& reader, LinksMeet& question) {
    read_token(reader, question.token);
    reader.require("peers");
    read_objects(reader, "peers",
                 [&](ObjectReader& peer) { read_fields(peer, question.peers.emplace_back()); });
}

void to_json(json& out, const LinksMeet::Answer& answer) {
    out = {{"links", answer.links}};
}

void read_fields(ObjectReader& reader, LinksMeet::Answer& answer) {
    reader.require("links");
    read_objects(reader, "links",
                 [&](ObjectReader& link) { read_fields(link, answer.links.emplace_back()); });
}

void to_json(json& out, const LinksSend& question) {
    out = question.peer;
    out.update({{"token", question.token}, {"streams", question.streams}, {"ms", question.ms}});
}

void read_fields(ObjectReader& reader, LinksSend& question) {
    read_token(reader, question.token);
    read_fields(reader, question.peer);
    reader.read("streams", question.streams);
    reader.read("ms", question.ms);
    if (question.streams < 1 || question.streams > most_streams || question.ms < 10 || question.ms > 60000) {
        reader.fail("streams are 1 to 16, ms 10 to 60000");
    }
}

void to_json(json& out, const LinksSend::Answer& answer) {
    out = {{"bytes_per_second", answer.bytes_per_second},
           {"segments", answer.segments},
           {"sent_again", answer.sent_again}};
}

void read_fields(ObjectReader& reader, LinksSend::Answer& answer) {
    for (const auto* key : {"bytes_per_second", "segments", "sent_again"}) {
        reader.require(key);
    }
    reader.read("bytes_per_second", answer.bytes_per_second);
    reader.read("segments", answer.segments);
    reader.read("sent_again", answer.sent_again);
}

} // namespace dockdist::wire
