// What the client and the relays (dockdist-init relay, one a host) tell each other over the relay's stdin and
// stdout. A relay carries blobs from host to host: those of an image, by their digests, or the files of a
// tree, by their numbers in a list.
//
// The client writes a RelayOpening; the relay answers {"type":"listening"}; the client writes the relay's
// RelayPeers.
//
// An image: while the client still reads it, and nobody knows its digests, it may give the files of the
// image's tar ahead: pieces {"file","length"}, each with as many bytes behind it, file by file in the order
// of the tar; relays hand them on. Then it writes a RelayImage. From then on the relay may write
// {"type":"want"} for a blob that it gets from no other relay, and the client answers with any number of
// pieces {"digest","length"} and their bytes; a length of 0 says that the client cannot give it.
//
// A tree: the client writes RelayFiles, the files that this host lacks, or, to the relay of the host where
// they are, that it is to read; the last of them says so. A relay may want a run of files of the client:
// pieces {"file","length"}. Whoever reads a file to give it away says what its digest is: the relay of that
// host by {"type":"digest"}, and the client by a RelayDigest, to all, before the file's last byte. A
// relay takes no file for whole without that. It says how far it is, which files it cannot keep
// ({"type":"lost"}), and that it is done.
//
// The end of stdin ends the relay.
//
// Relays speak to each other over TCP, encrypted with what the client told both
// (node/relay/relay_channel.hpp). Who connects says a RelayRequest. The answer to one for a blob is the bytes
// of the blob from there on, and to one for a run of files those of the others behind it; to one for what
// comes ahead, pieces {"file","length"} with their bytes. Empty messages say that more may come.
#pragma once

#include "shared/core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

inline constexpr const char* relay_user = "dockdist"; // of the engine's login, with the token as its password

struct RelayOpening {
    std::string token{};     // of this relay alone: its engine's; empty for a tree, which no engine asks for
    std::string address{};   // where other relays are to connect; no numeric one: that of the default route
    std::string interface{}; // where it is given, and has another address: that, rather …
    std::vector<std::string> subnets{}; // … or without a numeric address, one in these, "10.1.0.0/16"
    std::int64_t most_ahead = 0;        // bytes
    bool tree = false;                  // not an image
    bool origin = false;                // of a tree: its files are here
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
    std::string digest{};    // of a blob; empty, with a count of 0: what comes ahead
    int first = 0;           // files of a tree, from this number on …
    int count = 0;           // … so many
    std::int64_t offset = 0; // in the blob, or in the first file
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

struct RelayFile {
    int number = 0; // among the files of this transfer: the same at every relay, rising
    std::string name{};
    std::int64_t size = 0; // bytes
    std::uint32_t mode = 0;
    std::int64_t time_ns = 0;
    bool operator==(const RelayFile&) const = default;
};

struct RelayFiles {
    std::vector<RelayFile> files{};
    bool last = false;
    bool operator==(const RelayFiles&) const = default;
};

struct RelayDigest {
    int file = 0;
    std::string digest{}; // empty: the file is not what it was, and is given up
    bool operator==(const RelayDigest&) const = default;
};

struct RelayMessage {
    enum class Type { listening, want, digest, progress, lost, done };
    Type type = Type::listening;
    int engine_port = 0;   // on 127.0.0.1; 0: of a tree
    std::string address{}; // numeric, where other relays connect
    int peer_port = 0;     // 0: nobody can connect there
    RelayRequest want{};
    RelayDigest digest{};
    std::int64_t bytes = 0; // of files that are here by now
    int file = 0;           // that is lost …
    std::string text{};     // … why, …
    std::string hint{};     // … and what to do
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
std::string to_line(const RelayFiles& files);
std::string to_line(const RelayDigest& digest);
Result<RelayOpening> parse_relay_opening(std::string_view line);
Result<RelayImage> parse_relay_image(std::string_view line);
Result<RelayMessage> parse_relay_message(std::string_view line);
Result<RelayPiece> parse_relay_piece(std::string_view line);
Result<RelayPeers> parse_relay_peers(std::string_view line);
Result<RelayRequest> parse_relay_request(std::string_view line);
Result<RelayFiles> parse_relay_files(std::string_view line);
Result<RelayDigest> parse_relay_digest(std::string_view line);

// What a file of a tree is called where blobs are called by digests.
std::string relay_blob_id(int file);

bool is_sha256_digest(std::string_view text);

} // namespace dockdist::wire
