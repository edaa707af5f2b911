#include "fakes/wire_words.hpp"
#include "shared/wire/relay.hpp"

namespace dockdist {

std::vector<WireWord> relay_words() {
    const std::string blob = "sha256:" + std::string(64, 'a');
    std::vector<WireWord> words{
        {"parse_relay_opening", wire::to_line(wire::RelayOpening{.token = "t",
                                                                 .address = "10.0.0.1",
                                                                 .interface = "eth0",
                                                                 .subnets = {"10.0.0.0/24"},
                                                                 .most_ahead = 5})},
        {"parse_relay_opening", wire::to_line(wire::RelayOpening{.tree = true, .origin = true})},
        {"parse_relay_image", wire::to_line(wire::RelayImage{
                                  .manifest = "{}", .media_type = "application/x", .blobs = {{blob, 7, 2}}})},
        {"parse_relay_piece", wire::to_line(wire::RelayPiece{blob, 5})},
        {"parse_relay_piece", wire::to_line(wire::RelayPiece{.length = 5, .file = 3})},
        {"parse_relay_peers",
         wire::to_line(wire::RelayPeers{.upstreams = {{2, std::string(64, 'a'), "10.0.0.1 4001"}},
                                        .downstreams = {{3, std::string(64, 'b'), ""}}})},
        {"parse_relay_request", wire::to_line(wire::RelayRequest{.digest = blob, .offset = 3})},
        {"parse_relay_request", wire::to_line(wire::RelayRequest{.first = 2, .count = 4})},
        {"parse_relay_files",
         wire::to_line(wire::RelayFiles{
             .files = {{.number = 1, .name = "d/f", .size = 3, .mode = 0644, .time_ns = 5}}, .last = true})},
        {"parse_relay_digest", wire::to_line(wire::RelayDigest{.file = 1, .digest = blob})}};
    using enum wire::RelayMessage::Type;
    for (const auto type : {listening, want, digest, progress, lost, done}) {
        words.push_back(
            {"parse_relay_message", wire::to_line(wire::RelayMessage{.type = type,
                                                                     .engine_port = 4000,
                                                                     .address = "10.0.0.1",
                                                                     .peer_port = 4001,
                                                                     .want = {.digest = blob, .offset = 3},
                                                                     .digest = {.file = 1, .digest = blob},
                                                                     .bytes = 6,
                                                                     .file = 1,
                                                                     .text = "why",
                                                                     .hint = "what to do"})});
    }
    return words;
}

} // namespace dockdist
