#include "shared/wire/exec_session.hpp"

#include "shared/wire/json_reader.hpp"
#include "shared/wire/little_endian.hpp"

#include <algorithm>
#include <limits>

namespace dockdist::wire {
namespace {

constexpr std::size_t session_header_size = 5;
constexpr std::size_t window_size = 4;
constexpr int longest_side = std::numeric_limits<std::uint16_t>::max();

Error damaged_session(std::string message) {
    return Error{.kind = ErrorKind::protocol, .message = std::move(message)};
}

} // namespace

std::string session_ask(const SessionAsk& ask) {
    nlohmann::json json{{"lease_ms", ask.lease_ms}, {"input", ask.input}};
    if (ask.terminal) {
        json["terminal"] = {{"rows", ask.terminal->rows}, {"columns", ask.terminal->columns}};
    }
    return dump(json);
}

Result<SessionAsk> parse_session_ask(std::string_view text) {
    constexpr auto* what = "what --session asks for";
    const auto object = parse_object(text, what);
    TRY(object);
    SessionAsk ask;
    ObjectReader reader(*object, what);
    reader.require("lease_ms");
    reader.read("lease_ms", ask.lease_ms, 0, std::numeric_limits<std::int64_t>::max() / 2);
    reader.read("input", ask.input);
    if (object->contains("terminal")) {
        read_object(reader, "terminal", [&](ObjectReader& nested) {
            ask.terminal.emplace();
            nested.read("rows", ask.terminal->rows, 0, longest_side);
            nested.read("columns", ask.terminal->columns, 0, longest_side);
        });
    }
    if (reader.failed()) {
        return reader.error();
    }
    return ask;
}

std::string encode(const SessionFrame& frame) {
    std::string payload;
    if (frame.kind == SessionFrame::Kind::window) {
        for (const int side : {frame.window.rows, frame.window.columns}) {
            put_little_endian(payload, static_cast<std::uint16_t>(std::clamp(side, 0, longest_side)));
        }
    }
    const std::string_view body = frame.kind == SessionFrame::Kind::input ? frame.input : payload;
    std::string out;
    out.reserve(session_header_size + body.size());
    out += static_cast<char>(frame.kind);
    put_little_endian(out, static_cast<std::uint32_t>(body.size()));
    out += body;
    return out;
}

Result<std::optional<SessionFrame>> SessionFrameDecoder::next() {
    const auto rest = unread_.view();
    if (rest.empty()) {
        return std::optional<SessionFrame>{};
    }
    SessionFrame frame{.kind = static_cast<SessionFrame::Kind>(rest[0])};
    std::size_t longest = 0;
    switch (frame.kind) {
    case SessionFrame::Kind::input:
        longest = max_session_payload;
        break;
    case SessionFrame::Kind::window:
        longest = window_size;
        break;
    case SessionFrame::Kind::end:
    case SessionFrame::Kind::ping:
    case SessionFrame::Kind::quit:
        break;
    default:
        return damaged_session("a session's frame of unknown kind " +
                               std::to_string(static_cast<unsigned char>(rest[0])));
    }
    if (rest.size() < session_header_size) {
        return std::optional<SessionFrame>{};
    }
    const auto length = get_little_endian(rest.substr(1, session_header_size - 1));
    if (length > longest || (frame.kind == SessionFrame::Kind::window && length != window_size)) {
        return damaged_session("a session's frame of " + std::to_string(length) + " bytes");
    }
    if (rest.size() < session_header_size + length) {
        return std::optional<SessionFrame>{};
    }
    const auto body = rest.substr(session_header_size, length);
    if (frame.kind == SessionFrame::Kind::window) {
        frame.window = {.rows = static_cast<int>(get_little_endian(body.substr(0, 2))),
                        .columns = static_cast<int>(get_little_endian(body.substr(2, 2)))};
    } else {
        frame.input = body;
    }
    unread_.take(session_header_size + length);
    return std::optional(std::move(frame));
}

} // namespace dockdist::wire
