// What the client and the image relays (dockdist-init image-relay, one a host) tell each other over the
// relay's stdin and stdout.
//
// The client writes a RelayRequest; the relay answers {"type":"listening"}; the client writes
// {"upstreams":[…]}. From then on the relay may write {"type":"want"} for a blob that it gets from no other
// relay, and the client answers with any number of pieces, each a line {"digest","length"} and behind it as
// many bytes; a length of 0 says that the client cannot give it. The end of stdin ends the relay.
#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

inline constexpr const char* relay_user = "dockdist"; // with the token as its password, for both listeners

struct RelayBlob {
    std::string digest{};  // "sha256:" and 64 hex digits
    std::int64_t size = 0; // bytes
    bool operator==(const RelayBlob&) const = default;
};

struct RelayRequest {
    std::string token{};
    std::string address{};  // where other relays are to connect; no numeric one: that of the default route
    std::string manifest{}; // what the engine is answered when it asks for one
    std::string media_type{};
    std::vector<RelayBlob> blobs{};
    bool operator==(const RelayRequest&) const = default;
};

struct RelayMessage {
    enum class Type { listening, want };
    Type type = Type::listening;
    int engine_port = 0;   // on 127.0.0.1
    std::string address{}; // numeric, where other relays connect
    int peer_port = 0;     // 0: nobody can connect there
    std::string digest{};
    std::int64_t offset = 0;
    bool operator==(const RelayMessage&) const = default;
};

struct RelayPiece {
    std::string digest{};
    std::int64_t length = 0;
    bool operator==(const RelayPiece&) const = default;
};

// Lines with their '\n'. Reading: ErrorKind::protocol for anything that is not such a line.
std::string to_line(const RelayRequest& request);
std::string to_line(const RelayMessage& message);
std::string to_line(const RelayPiece& piece);
std::string upstreams_line(const std::vector<std::string>& upstreams); // "ADDRESS PORT", nearest first
Result<RelayRequest> parse_relay_request(std::string_view line);
Result<RelayMessage> parse_relay_message(std::string_view line);
Result<RelayPiece> parse_relay_piece(std::string_view line);
Result<std::vector<std::string>> parse_upstreams(std::string_view line);

bool is_sha256_digest(std::string_view text);

} // namespace dockdist::wire
