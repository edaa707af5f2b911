#include "shared/wire/relay.hpp"

#include "shared/core/encode.hpp"
#include "shared/wire/json_reader.hpp"
#include "shared/wire/tree.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace dockdist::wire {
namespace {

constexpr std::int64_t largest_piece = 16 << 20;
constexpr int most_numbers = std::numeric_limits<int>::max() / 2; // a run of them still is a number

Error malformed(std::string_view what, std::string message) {
    return {ErrorKind::protocol, "", std::string(what) + ": " + std::move(message), ""};
}

bool is_64_hex_digits(std::string_view text) {
    return text.size() == 64 && is_hex(text);
}

nlohmann::json to_json(const RelayRequest& request) {
    if (request.count > 0) {
        return {{"first", request.first}, {"count", request.count}, {"offset", request.offset}};
    }
    return {{"digest", request.digest}, {"offset", request.offset}};
}

// A blob or a run of files; neither of them where it may be what comes `ahead`.
RelayRequest read_request(ObjectReader& reader, bool ahead) {
    constexpr int most_at_once = 4096;
    RelayRequest request;
    reader.read("digest", request.digest);
    reader.read("first", request.first, 0, most_numbers);
    reader.read("count", request.count, 0, most_at_once);
    reader.read("offset", request.offset, 0, std::numeric_limits<std::int64_t>::max());
    const bool blob = is_sha256_digest(request.digest);
    if (!reader.failed() &&
        (request.digest.empty() ? request.count == 0 && !ahead : !blob || request.count > 0)) {
        reader.fail("neither a digest nor files");
    }
    request.first = request.count > 0 ? request.first : 0;
    return request;
}

RelayDigest read_digest(ObjectReader& reader) {
    RelayDigest digest;
    reader.require("of");
    reader.read("of", digest.file, 0, most_numbers);
    reader.read("digest", digest.digest);
    if (!digest.digest.empty() && !is_sha256_digest(digest.digest)) {
        reader.fail("no digest");
    }
    return digest;
}

} // namespace

bool is_sha256_digest(std::string_view text) {
    return text.starts_with("sha256:") && is_64_hex_digits(text.substr(7));
}

std::string relay_blob_id(int file) {
    return "file:" + std::to_string(file);
}

std::string to_line(const RelayOpening& opening) {
    nlohmann::json json{
        {"token", opening.token}, {"address", opening.address}, {"most_ahead", opening.most_ahead}};
    if (!opening.interface.empty()) {
        json["interface"] = bytes_to_json(opening.interface);
    }
    if (!opening.subnets.empty()) {
        json["subnets"] = opening.subnets;
    }
    if (opening.tree) {
        json.update({{"tree", true}, {"origin", opening.origin}});
    }
    return dump(json) + "\n";
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
    nlohmann::json json;
    switch (message.type) {
    case RelayMessage::Type::want:
        json = to_json(message.want);
        json["type"] = "want";
        break;
    case RelayMessage::Type::digest:
        json = {{"type", "digest"}, {"of", message.digest.file}, {"digest", message.digest.digest}};
        break;
    case RelayMessage::Type::progress:
        json = {{"type", "progress"}, {"bytes", message.bytes}};
        break;
    case RelayMessage::Type::lost:
        json = {{"type", "lost"},
                {"file", message.file},
                {"text", bytes_to_json(message.text)},
                {"hint", bytes_to_json(message.hint)}};
        break;
    case RelayMessage::Type::done:
        json = {{"type", "done"}};
        break;
    default:
        json = {{"type", "listening"},
                {"engine_port", message.engine_port},
                {"address", message.address},
                {"peer_port", message.peer_port}};
    }
    return dump(json) + "\n";
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
    return dump(to_json(request)) + "\n";
}

std::string to_line(const RelayDigest& digest) {
    return dump({{"of", digest.file}, {"digest", digest.digest}}) + "\n";
}

std::string to_line(const RelayFiles& files) {
    auto array = nlohmann::json::array();
    for (const auto& file : files.files) {
        array.push_back({{"number", file.number},
                         {"name", bytes_to_json(file.name)},
                         {"size", file.size},
                         {"mode", file.mode},
                         {"time_ns", file.time_ns}});
    }
    return dump({{"files", std::move(array)}, {"last", files.last}}) + "\n";
}

Result<RelayOpening> parse_relay_opening(std::string_view line) {
    constexpr std::string_view what = "the relay's opening";
    const auto object = parse_object(line, what);
    TRY(object);
    ObjectReader reader(*object, what);
    RelayOpening opening;
    reader.read("tree", opening.tree);
    reader.read("origin", opening.origin);
    reader.read("token", opening.token);
    reader.read("address", opening.address);
    reader.read_bytes("interface", opening.interface);
    reader.read_bytes("subnets", opening.subnets);
    reader.read("most_ahead", opening.most_ahead, 0, std::numeric_limits<std::int64_t>::max());
    if (reader.failed()) {
        return reader.error();
    }
    if (opening.token.empty() && !opening.tree) {
        return malformed(what, "there is no token");
    }
    return opening;
}

Result<RelayImage> parse_relay_image(std::string_view line) {
    constexpr std::string_view what = "the relay's image";
    const auto object = parse_object(line, what);
    TRY(object);
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
    using Type = RelayMessage::Type;
    const auto object = parse_object(line, what);
    TRY(object);
    ObjectReader reader(*object, what);
    RelayMessage message;
    std::string type;
    reader.read("type", type);
    if (type == "listening") {
        reader.require("engine_port");
        reader.read("engine_port", message.engine_port, 0, 65535);
        reader.read("address", message.address);
        reader.read("peer_port", message.peer_port, 0, 65535);
    } else if (type == "want") {
        message.type = Type::want;
        message.want = read_request(reader, false);
    } else if (type == "digest") {
        message.type = Type::digest;
        message.digest = read_digest(reader);
    } else if (type == "progress") {
        message.type = Type::progress;
        reader.read("bytes", message.bytes, 0, std::numeric_limits<std::int64_t>::max());
    } else if (type == "lost") {
        message.type = Type::lost;
        reader.read("file", message.file, 0, most_numbers);
        reader.read_bytes("text", message.text);
        reader.read_bytes("hint", message.hint);
    } else if (type == "done") {
        message.type = Type::done;
    } else {
        reader.fail("neither where it listens nor what it wants");
    }
    if (reader.failed()) {
        return reader.error();
    }
    return message;
}

Result<RelayPiece> parse_relay_piece(std::string_view line) {
    constexpr std::string_view what = "a piece of a blob";
    const auto object = parse_object(line, what);
    TRY(object);
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
    TRY(object);
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
    TRY(object);
    ObjectReader reader(*object, what);
    reader.require("offset");
    auto request = read_request(reader, true);
    if (reader.failed()) {
        return reader.error();
    }
    return request;
}

Result<RelayDigest> parse_relay_digest(std::string_view line) {
    constexpr std::string_view what = "a file's digest";
    const auto object = parse_object(line, what);
    TRY(object);
    ObjectReader reader(*object, what);
    auto digest = read_digest(reader);
    if (reader.failed()) {
        return reader.error();
    }
    return digest;
}

Result<RelayFiles> parse_relay_files(std::string_view line) {
    constexpr std::string_view what = "the relay's files";
    const auto object = parse_object(line, what);
    TRY(object);
    ObjectReader reader(*object, what);
    RelayFiles files;
    reader.require("files");
    reader.read("last", files.last);
    read_objects(reader, "files", [&files](ObjectReader& fields) {
        RelayFile file;
        std::int64_t mode = 0;
        fields.read("number", file.number, 0, most_numbers);
        fields.read_bytes("name", file.name);
        fields.read("size", file.size, 0, std::numeric_limits<std::int64_t>::max());
        fields.read("mode", mode, 0, 0777);
        fields.read("time_ns", file.time_ns);
        file.mode = static_cast<std::uint32_t>(mode);
        if (!is_tree_name(file.name) || is_temporary(file.name)) {
            fields.fail("a name leads out of its folder");
        }
        files.files.push_back(std::move(file));
    });
    if (reader.failed()) {
        return reader.error();
    }
    return files;
}

} // namespace dockdist::wire
