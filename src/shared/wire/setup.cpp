#include "shared/wire/setup.hpp"

#include "shared/core/encode.hpp"
#include "shared/wire/json_reader.hpp"

namespace dockdist::wire {
namespace {

constexpr std::string_view done_word = " done";
constexpr std::string_view new_word = " new";

bool is_setup_digest(std::string_view text) {
    return text.size() == setup_digest_size && is_hex(text);
}

} // namespace

std::string to_text(const SetupLine& line) {
    return dump({{"run", bytes_to_json(line.run)},
                 {"user", bytes_to_json(line.user)},
                 {"target", bytes_to_json(line.target)},
                 {"digest", line.digest},
                 {"again", line.again}});
}

Result<SetupLine> parse_setup_line(std::string_view text) {
    constexpr std::string_view what = "the line of `setup`";
    const auto object = parse_object(text, what);
    TRY(object);
    SetupLine line;
    ObjectReader reader(*object, what);
    reader.require("run");
    reader.read_bytes("run", line.run);
    reader.read_bytes("user", line.user);
    reader.read_bytes("target", line.target);
    reader.read("digest", line.digest);
    reader.read("again", line.again);
    if ((!line.digest.empty() && !is_setup_digest(line.digest)) ||
        (!line.again.empty() && !is_setup_digest(line.again))) {
        reader.fail("a digest is invalid");
    }
    if (reader.failed()) {
        return reader.error();
    }
    return line;
}

std::string to_text(const SetupState& state) {
    return state.digest + std::string(state.done ? done_word : new_word) + "\n";
}

Result<SetupState> parse_setup_state(std::string_view text) {
    SetupState state{.digest = std::string(text.substr(0, setup_digest_size))};
    const auto word = text.substr(state.digest.size());
    state.done = word == done_word;
    if (!is_setup_digest(state.digest) || (!state.done && word != new_word)) {
        return Error{.kind = ErrorKind::protocol, .message = "the node says nothing of its setup"};
    }
    return state;
}

} // namespace dockdist::wire
