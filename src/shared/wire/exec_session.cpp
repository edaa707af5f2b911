#include "shared/wire/exec_session.hpp"

#include "shared/wire/fields.hpp"
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

void fields_of(auto& fields, Of<WindowSize> auto& size) {
    fields("rows", size.rows, 0, longest_side);
    fields("columns", size.columns, 0, longest_side);
}

void fields_of(auto& fields, Of<SessionAsk> auto& ask) {
    fields.required("lease_ms", ask.lease_ms, 0, any_count / 2);
    fields("input", ask.input);
    fields("terminal", ask.terminal);
}

std::string session_ask(const SessionAsk& ask) {
    return text_of(ask);
}

Result<SessionAsk> parse_session_ask(std::string_view text) {
    return parse<SessionAsk>(text, "what --session asks for");
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
