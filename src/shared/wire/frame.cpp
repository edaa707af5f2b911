#include "shared/wire/frame.hpp"

#include "shared/wire/little_endian.hpp"

namespace dockdist::wire {
namespace {

Error damaged_frame(std::string message) {
    return Error{
        .kind = ErrorKind::protocol,
        .message = std::move(message),
        .hint = "the stream from the node was damaged, or something other than dockdist-init wrote to it"};
}

} // namespace

std::string encode_header(const FrameHeader& header) {
    std::string out;
    out.reserve(frame_header_size);
    out += static_cast<char>(header.kind);
    out += static_cast<char>(header.stream);
    put_little_endian(out, static_cast<std::uint16_t>(header.time_ms >> 32));
    put_little_endian(out, static_cast<std::uint32_t>(header.rank));
    put_little_endian(out, header.length);
    put_little_endian(out, static_cast<std::uint32_t>(header.time_ms));
    put_little_endian(out, header.position);
    return out;
}

Result<FrameHeader> parse_header(std::string_view bytes) {
    if (bytes.size() < frame_header_size) {
        return damaged_frame("a frame's header was cut short");
    }
    const char* data = bytes.data();
    if (data[0] != 'O' && data[0] != 'C' && data[0] != 'P') {
        return damaged_frame("a frame of unknown kind " +
                             std::to_string(static_cast<unsigned char>(data[0])));
    }
    FrameHeader header;
    header.kind = static_cast<Frame::Kind>(data[0]);
    header.stream = static_cast<std::uint8_t>(data[1]);
    header.rank = static_cast<std::int32_t>(static_cast<std::uint32_t>(get_little_endian({data + 4, 4})));
    header.length = static_cast<std::uint32_t>(get_little_endian({data + 8, 4}));
    header.position = get_little_endian({data + 16, 8});
    header.time_ms = static_cast<std::int64_t>(get_little_endian({data + 2, 2}) << 32U |
                                               get_little_endian({data + 12, 4}));
    if (header.length > max_payload) {
        return damaged_frame("a frame of " + std::to_string(header.length) + " bytes");
    }
    if (header.rank < -1 || header.rank > max_rank) {
        return damaged_frame("a frame of rank " + std::to_string(header.rank));
    }
    if (header.stream > 2 || (header.kind != Frame::Kind::output && header.time_ms != 0)) {
        return damaged_frame("a frame whose header is not of the protocol");
    }
    return header;
}

std::string encode(const Frame& frame) {
    return encode_header({.kind = frame.kind,
                          .stream = frame.stream,
                          .rank = frame.rank,
                          .length = static_cast<std::uint32_t>(frame.payload.size()),
                          .position = frame.position,
                          .time_ms = frame.time_ms}) +
           frame.payload;
}

Result<std::optional<Frame>> FrameDecoder::next() {
    const auto rest = unread_.view();
    if (rest.size() < frame_header_size) {
        return std::optional<Frame>{};
    }
    const auto header = parse_header(rest);
    TRY(header);
    if (rest.size() < frame_header_size + header->length) {
        return std::optional<Frame>{};
    }
    unread_.take(frame_header_size + header->length);
    return std::optional<Frame>(
        Frame{.kind = header->kind,
              .stream = header->stream,
              .rank = header->rank,
              .position = header->position,
              .time_ms = header->time_ms,
              .payload = std::string(rest.substr(frame_header_size, header->length))});
}

} // namespace dockdist::wire
