// A check's questions about the paths between nodes, as the job's sockets take them.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

class ObjectReader;

inline constexpr std::size_t link_token_size = 32;

// How far one came on the way to a peer.
enum class LinkOutcome {
    open,        // everything passed
    refused,     // an answer: nobody listens, or a firewall rejects
    dropped,     // no answer at all
    unreachable, // a router or the node's own machine says that there is no way
    silent,      // connected, and not even a small packet came back
    large_lost,  // small packets pass, large ones do not
    failed,      // anything else
};
std::string_view to_string(LinkOutcome outcome); // as it stands on the wire

// The node listens on a rendezvous port until the session ends.
struct LinksListen {
    static constexpr const char* ask = "links-listen";
    struct Answer {
        int port = 0;
    };
    std::string token{}; // of link_token_size; connections bring it
};
void to_json(nlohmann::json& json, const LinksListen& question);
void read_fields(ObjectReader& reader, LinksListen& question);
void to_json(nlohmann::json& json, const LinksListen::Answer& answer);
void read_fields(ObjectReader& reader, LinksListen::Answer& answer);

struct LinkPeer {
    std::string node{}, address{};
    int port = 0; // 1 to 65535
};
void to_json(nlohmann::json& json, const LinkPeer& peer);
void read_fields(ObjectReader& reader, LinkPeer& peer);

struct LinkMeeting {
    std::string node{}; // the peer
    LinkOutcome outcome = LinkOutcome::failed;
    std::string message{};              // the system's, of what failed
    std::optional<double> latency_us{}; // the median of a small round trip, where there was one
};
void to_json(nlohmann::json& json, const LinkMeeting& meeting);
void read_fields(ObjectReader& reader, LinkMeeting& meeting);

// The node meets each of its peers.
struct LinksMeet {
    static constexpr const char* ask = "links-meet";
    struct Answer {
        std::vector<LinkMeeting> links{}; // in any order
    };
    std::string token{};
    std::vector<LinkPeer> peers{};
};
void to_json(nlohmann::json& json, const LinksMeet& question);
void read_fields(ObjectReader& reader, LinksMeet& question);
void to_json(nlohmann::json& json, const LinksMeet::Answer& answer);
void read_fields(ObjectReader& reader, LinksMeet::Answer& answer);

// The node sends to one peer as fast as it goes.
struct LinksSend {
    static constexpr const char* ask = "links-send";
    // What the peer has acknowledged in the time, once the streams had gathered speed.
    struct Answer {
        double bytes_per_second = 0;
        std::uint64_t segments = 0, sent_again = 0;
    };
    std::string token{};
    LinkPeer peer{};
    int streams = 1;        // 1 to 16
    std::int64_t ms = 2000; // 10 to 60000
};
void to_json(nlohmann::json& json, const LinksSend& question);
void read_fields(ObjectReader& reader, LinksSend& question);
void to_json(nlohmann::json& json, const LinksSend::Answer& answer);
void read_fields(ObjectReader& reader, LinksSend::Answer& answer);

} // namespace dockdist::wire
