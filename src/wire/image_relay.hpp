// What the client and the image relays (dockdist-init image-relay, one a host) tell each other over the
// relay's stdin and stdout.
//
// The client writes a RelayOpening; the relay answers {"type":"listening"}; the client writes the relay's
// RelayPeers. While the client still reads the image, and nobody knows its digests, it may give the
// files of the image's tar ahead: pieces {"file","length"}, each with as many bytes behind it, file by file
// in the order of the tar; relays hand them on. Then it writes a RelayImage. From then on the relay may write
// {"type":"want"} for a blob that it gets from no other relay, and the client answers with any number of
// pieces {"digest","length"} and their bytes; a length of 0 says that the client cannot give it. The end of
// stdin ends the relay.
//
// Relays speak to each other over TCP, encrypted with what the client told both
// (node/relay/relay_channel.hpp). Who connects says a RelayRequest. The answer to one for a blob is the bytes
// of the blob from there on; to one for what comes ahead, pieces {"file","length"} with their bytes. Empty
// messages say that more may come.
#pragma once

#include "core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

inline constexpr const char* relay_user = "dockdist"; // of the engine's login, with the token as its password

struct RelayOpening {
    std::string token{};   // of this relay alone: its engine's
    std::string address{}; // where other relays are to connect; no numeric one: that of the default route
    std::int64_t most_ahead = 0; // bytes
    bool operator==(const RelayOpening&) const = default;
};

// One that asks and one that is asked. Nobody but the two and the client knows the key.
struct RelayPair {
    int asking = 0;        // number of the relay that asks, among those of this transfer
    std::string key{};     // 64 hex digits
    std::string address{}; // "ADDRESS PORT" of the one that is asked, where it is not oneself
    bool operator==(const RelayPair&) const = default;
};

struct RelayPeers {
    std::vector<RelayPair> upstreams{};   // nearest first
    std::vector<RelayPair> downstreams{}; // who may ask this one
    bool operator==(const RelayPeers&) const = default;
};

struct RelayRequest {
    std::string digest{}; // empty: what comes ahead
    std::int64_t offset = 0;
    bool operator==(const RelayRequest&) const = default;
};

struct RelayBlob {
    std::string digest{};  // "sha256:" and 64 hex digits
    std::int64_t size = 0; // bytes
    int file = -1;         // which one of the tar it was; -1: not known
    bool operator==(const RelayBlob&) const = default;
};

struct RelayImage {
    std::string manifest{}; // what the engine is answered when it asks for one
    std::string media_type{};
    std::vector<RelayBlob> blobs{};
    bool operator==(const RelayImage&) const = default;
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
    std::string digest{}; // empty: of `file`
    std::int64_t length = 0;
    int file = -1;
    bool operator==(const RelayPiece&) const = default;
};

// Lines with their '\n'. Reading: ErrorKind::protocol for anything that is not such a line.
std::string to_line(const RelayOpening& opening);
std::string to_line(const RelayImage& image);
std::string to_line(const RelayMessage& message);
std::string to_line(const RelayPiece& piece);
std::string to_line(const RelayPeers& peers);
std::string to_line(const RelayRequest& request);
Result<RelayOpening> parse_relay_opening(std::string_view line);
Result<RelayImage> parse_relay_image(std::string_view line);
Result<RelayMessage> parse_relay_message(std::string_view line);
Result<RelayPiece> parse_relay_piece(std::string_view line);
Result<RelayPeers> parse_relay_peers(std::string_view line);
Result<RelayRequest> parse_relay_request(std::string_view line);

bool is_sha256_digest(std::string_view text);

} // namespace dockdist::wire
