#include "wire/image_relay.hpp"

#include "core/encode.hpp"
#include "wire/json_reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace dockdist::wire {
namespace {

constexpr std::int64_t largest_piece = 16 << 20;

Error malformed(std::string_view what, std::string message) {
    return {ErrorKind::protocol, "", std::string(what) + ": " + std::move(message), ""};
}

bool is_64_hex_digits(std::string_view text) {
    return text.size() == 64 && is_hex(text);
}

} // namespace

bool is_sha256_digest(std::string_view text) {
    return text.starts_with("sha256:") && is_64_hex_digits(text.substr(7));
}

std::string to_line(const RelayOpening& opening) {
    return dump(
               {{"token", opening.token}, {"address", opening.address}, {"most_ahead", opening.most_ahead}}) +
           "\n";
}

std::string to_line(const RelayImage& image) {
    auto blobs = nlohmann::json::array();
    for (const auto& blob : image.blobs) {
        blobs.push_back({{"digest", blob.digest}, {"size", blob.size}, {"file", blob.file}});
    }
    return dump({{"manifest", image.manifest},
                 {"media_type", image.media_type},
                 {"blobs", std::move(blobs)}}) +
           "\n";
}

std::string to_line(const RelayMessage& message) {
    if (message.type == RelayMessage::Type::want) {
        return dump({{"type", "want"}, {"digest", message.digest}, {"offset", message.offset}}) + "\n";
    }
    return dump({{"type", "listening"},
                 {"engine_port", message.engine_port},
                 {"address", message.address},
                 {"peer_port", message.peer_port}}) +
           "\n";
}

std::string to_line(const RelayPiece& piece) {
    return dump(piece.digest.empty() ? nlohmann::json{{"file", piece.file}, {"length", piece.length}}
                                     : nlohmann::json{{"digest", piece.digest}, {"length", piece.length}}) +
           "\n";
}

std::string to_line(const RelayPeers& peers) {
    const auto list = [](const std::vector<RelayPair>& pairs) {
        auto array = nlohmann::json::array();
        for (const auto& pair : pairs) {
            array.push_back({{"asking", pair.asking}, {"key", pair.key}, {"address", pair.address}});
        }
        return array;
    };
    return dump({{"upstreams", list(peers.upstreams)}, {"downstreams", list(peers.downstreams)}}) + "\n";
}

std::string to_line(const RelayRequest& request) {
    return dump({{"digest", request.digest}, {"offset", request.offset}}) + "\n";
}

Result<RelayOpening> parse_relay_opening(std::string_view line) {
    constexpr std::string_view what = "the relay's opening";
    const auto object = parse_object(line, what);
    if (!object) {
        return object.error();
    }
    ObjectReader reader(*object, what);
    RelayOpening opening;
    reader.require("token");
    reader.read("token", opening.token);
    reader.read("address", opening.address);
    reader.read("most_ahead", opening.most_ahead, 0, std::numeric_limits<std::int64_t>::max());
    if (reader.failed()) {
        return reader.error();
    }
    if (opening.token.empty()) {
        return malformed(what, "the token is empty");
    }
    return opening;
}

Result<RelayImage> parse_relay_image(std::string_view line) {
    constexpr std::string_view what = "the relay's image";
    const auto object = parse_object(line, what);
    if (!object) {
        return object.error();
    }
    ObjectReader reader(*object, what);
    RelayImage image;
    for (const char* key : {"manifest", "blobs"}) {
        reader.require(key);
    }
    reader.read("manifest", image.manifest);
    reader.read("media_type", image.media_type);
    if (const auto* blobs = reader.array("blobs")) {
        for (const auto& each : *blobs) {
            if (!each.is_object()) {
                return malformed(what, "a blob is not an object");
            }
            ObjectReader fields(each, what);
            RelayBlob blob;
            fields.read("digest", blob.digest);
            fields.read("size", blob.size);
            fields.read("file", blob.file);
            if (fields.failed()) {
                return fields.error();
            }
            if (!is_sha256_digest(blob.digest) || blob.size < 0) {
                return malformed(what, "a blob has no digest or no size");
            }
            image.blobs.push_back(std::move(blob));
        }
    }
    if (reader.failed()) {
        return reader.error();
    }
    return image;
}

Result<RelayMessage> parse_relay_message(std::string_view line) {
    constexpr std::string_view what = "the relay's message";
    const auto object = parse_object(line, what);
    if (!object) {
        return object.error();
    }
    ObjectReader reader(*object, what);
    RelayMessage message;
    std::string type;
    reader.read("type", type);
    reader.read("engine_port", message.engine_port);
    reader.read("address", message.address);
    reader.read("peer_port", message.peer_port);
    reader.read("digest", message.digest);
    reader.read("offset", message.offset);
    if (reader.failed()) {
        return reader.error();
    }
    const auto is_port = [](int port) { return port >= 0 && port <= 65535; };
    if (type == "listening" && message.engine_port > 0 && is_port(message.engine_port) &&
        is_port(message.peer_port)) {
        return message;
    }
    if (type == "want" && is_sha256_digest(message.digest) && message.offset >= 0) {
        message.type = RelayMessage::Type::want;
        return message;
    }
    return malformed(what, "neither where it listens nor what it wants");
}

Result<RelayPiece> parse_relay_piece(std::string_view line) {
    constexpr std::string_view what = "a piece of a blob";
    const auto object = parse_object(line, what);
    if (!object) {
        return object.error();
    }
    ObjectReader reader(*object, what);
    RelayPiece piece;
    reader.require("length");
    reader.read("digest", piece.digest);
    reader.read("file", piece.file);
    reader.read("length", piece.length);
    if (reader.failed()) {
        return reader.error();
    }
    const bool named = piece.digest.empty() ? piece.file >= 0 : is_sha256_digest(piece.digest);
    if (!named || piece.length < 0 || piece.length > largest_piece) {
        return malformed(what, "no digest and no file, or a length out of bounds");
    }
    return piece;
}

Result<RelayPeers> parse_relay_peers(std::string_view line) {
    constexpr std::string_view what = "the relay's peers";
    const auto object = parse_object(line, what);
    if (!object) {
        return object.error();
    }
    ObjectReader reader(*object, what);
    RelayPeers peers;
    for (const auto& [key, pairs] :
         {std::pair{"upstreams", &peers.upstreams}, std::pair{"downstreams", &peers.downstreams}}) {
        reader.require(key);
        read_objects(reader, key, [pairs](ObjectReader& fields) {
            RelayPair pair;
            fields.read("asking", pair.asking, 0, std::numeric_limits<int>::max());
            fields.read("key", pair.key);
            fields.read("address", pair.address);
            if (!is_64_hex_digits(pair.key)) {
                fields.fail("a pair has no key");
            }
            pairs->push_back(std::move(pair));
        });
    }
    if (reader.failed()) {
        return reader.error();
    }
    return peers;
}

Result<RelayRequest> parse_relay_request(std::string_view line) {
    constexpr std::string_view what = "a relay's request";
    const auto object = parse_object(line, what);
    if (!object) {
        return object.error();
    }
    ObjectReader reader(*object, what);
    RelayRequest request;
    reader.require("digest");
    reader.read("digest", request.digest);
    reader.read("offset", request.offset);
    if (reader.failed()) {
        return reader.error();
    }
    if ((!request.digest.empty() && !is_sha256_digest(request.digest)) || request.offset < 0) {
        return malformed(what, "no digest, or an offset out of bounds");
    }
    return request;
}

} // namespace dockdist::wire
