#include "shared/wire/relay.hpp"

#include "shared/core/encode.hpp"
#include "shared/wire/fields.hpp"
#include "shared/wire/tree.hpp"

#include <limits>
#include <utility>

namespace dockdist::wire {
namespace {

constexpr std::int64_t largest_piece = 16 << 20;
constexpr int most_at_once = 4096;
constexpr int most_numbers = std::numeric_limits<int>::max() / 2; // a run of them still is a number

bool is_64_hex_digits(std::string_view text) {
    return text.size() == 64 && is_hex(text);
}

constexpr Words<RelayMessage::Type, 6> message_words{{{RelayMessage::Type::listening, "listening"},
                                                      {RelayMessage::Type::want, "want"},
                                                      {RelayMessage::Type::digest, "digest"},
                                                      {RelayMessage::Type::progress, "progress"},
                                                      {RelayMessage::Type::lost, "lost"},
                                                      {RelayMessage::Type::done, "done"}}};

// A blob or a run of files; neither of them where it may be what comes `ahead`.
void check_request(ObjectReader& reader, RelayRequest& request, bool ahead) {
    const bool blob = is_sha256_digest(request.digest);
    if (request.digest.empty() ? request.count == 0 && !ahead : !blob || request.count > 0) {
        reader.fail("neither a digest nor files");
    }
    request.first = request.count > 0 ? request.first : 0;
}

} // namespace

bool is_sha256_digest(std::string_view text) {
    return text.starts_with("sha256:") && is_64_hex_digits(text.substr(7));
}

std::string relay_blob_id(int file) {
    return "file:" + std::to_string(file);
}

void fields_of(auto& fields, Of<RelayOpening> auto& opening) {
    fields("token", opening.token);
    fields("address", opening.address);
    fields("most_ahead", opening.most_ahead, 0, any_count);
    fields.omit_empty("interface", bytes_of(opening.interface));
    fields.omit_empty("subnets", opening.subnets);
    fields.omit_empty("tree", opening.tree);
    fields.when(opening.tree, "origin", opening.origin);
    fields.check(!opening.token.empty() || opening.tree, "there is no token");
}

std::string to_line(const RelayOpening& opening) {
    return line_of(opening);
}

Result<RelayOpening> parse_relay_opening(std::string_view line) {
    return parse<RelayOpening>(line, "the relay's opening");
}

void fields_of(auto& fields, Of<RelayBlob> auto& blob) {
    fields("digest", blob.digest);
    fields("size", blob.size);
    fields("file", blob.file);
    fields.check(is_sha256_digest(blob.digest) && blob.size >= 0, "a blob has no digest or no size");
}

void fields_of(auto& fields, Of<RelayImage> auto& image) {
    fields.required("manifest", image.manifest);
    fields("media_type", image.media_type);
    fields.required("blobs", image.blobs);
}

std::string to_line(const RelayImage& image) {
    return line_of(image);
}

Result<RelayImage> parse_relay_image(std::string_view line) {
    return parse<RelayImage>(line, "the relay's image");
}

void fields_of(auto& fields, Of<RelayRequest> auto& request) {
    const bool files = request.count > 0;
    fields.when(!files, "digest", request.digest);
    fields.when(files, "first", request.first, 0, most_numbers);
    fields.when(files, "count", request.count, 0, most_at_once);
    fields("offset", request.offset, 0, any_count);
}

std::string to_line(const RelayRequest& request) {
    return line_of(request);
}

Result<RelayRequest> parse_relay_request(std::string_view line) {
    return parse<RelayRequest>(line, "a relay's request", [](ObjectReader& reader, RelayRequest& request) {
        reader.require("offset");
        check_request(reader, request, true);
    });
}

void fields_of(auto& fields, Of<RelayDigest> auto& digest) {
    fields.required("of", digest.file, 0, most_numbers);
    fields("digest", digest.digest);
    fields.check(digest.digest.empty() || is_sha256_digest(digest.digest), "no digest");
}

std::string to_line(const RelayDigest& digest) {
    return line_of(digest);
}

Result<RelayDigest> parse_relay_digest(std::string_view line) {
    return parse<RelayDigest>(line, "a file's digest");
}

void fields_of(auto& fields, Of<RelayMessage> auto& message) {
    using enum RelayMessage::Type;
    fields.required("type", named(message.type, message_words));
    switch (message.type) {
    case listening:
        fields.required("engine_port", message.engine_port, 0, highest_port);
        fields("address", message.address);
        fields("peer_port", message.peer_port, 0, highest_port);
        break;
    case want:
        fields.all_of(message.want);
        fields.reading([&](auto& reader) { check_request(reader, message.want, false); });
        break;
    case digest:
        fields.all_of(message.digest);
        break;
    case progress:
        fields("bytes", message.bytes, 0, any_count);
        break;
    case lost:
        fields("file", message.file, 0, most_numbers);
        fields("text", bytes_of(message.text));
        fields("hint", bytes_of(message.hint));
        break;
    case done:
        break;
    }
}

std::string to_line(const RelayMessage& message) {
    return line_of(message);
}

Result<RelayMessage> parse_relay_message(std::string_view line) {
    return parse<RelayMessage>(line, "the relay's message");
}

void fields_of(auto& fields, Of<RelayPiece> auto& piece) {
    const bool blob = !piece.digest.empty();
    fields.when(blob, "digest", piece.digest);
    fields.when(!blob, "file", piece.file);
    fields.required("length", piece.length);
    fields.check((piece.digest.empty() ? piece.file >= 0 : is_sha256_digest(piece.digest)) &&
                     piece.length >= 0 && piece.length <= largest_piece,
                 "no digest and no file, or a length out of bounds");
}

std::string to_line(const RelayPiece& piece) {
    return line_of(piece);
}

Result<RelayPiece> parse_relay_piece(std::string_view line) {
    return parse<RelayPiece>(line, "a piece of a blob");
}

void fields_of(auto& fields, Of<RelayPair> auto& pair) {
    fields("asking", pair.asking, 0, any_int);
    fields("key", pair.key);
    fields("address", pair.address);
    fields.check(is_64_hex_digits(pair.key), "a pair has no key");
}

void fields_of(auto& fields, Of<RelayPeers> auto& peers) {
    fields.required("upstreams", peers.upstreams);
    fields.required("downstreams", peers.downstreams);
}

std::string to_line(const RelayPeers& peers) {
    return line_of(peers);
}

Result<RelayPeers> parse_relay_peers(std::string_view line) {
    return parse<RelayPeers>(line, "the relay's peers");
}

void fields_of(auto& fields, Of<RelayFile> auto& file) {
    fields("number", file.number, 0, most_numbers);
    fields("name", bytes_of(file.name));
    fields("size", file.size, 0, any_count);
    fields("mode", file.mode, 0, 0777);
    fields("time_ns", file.time_ns);
    fields.check(is_tree_name(file.name) && !is_temporary(file.name), "a name leads out of its folder");
}

void fields_of(auto& fields, Of<RelayFiles> auto& files) {
    fields.required("files", files.files);
    fields("last", files.last);
}

std::string to_line(const RelayFiles& files) {
    return line_of(files);
}

Result<RelayFiles> parse_relay_files(std::string_view line) {
    return parse<RelayFiles>(line, "the relay's files");
}

} // namespace dockdist::wire
