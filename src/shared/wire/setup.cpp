#include "shared/wire/setup.hpp"

#include "shared/core/encode.hpp"
#include "shared/wire/fields.hpp"

namespace dockdist::wire {
namespace {

constexpr std::string_view done_word = " done";
constexpr std::string_view new_word = " new";

bool is_setup_digest(std::string_view text) {
    return text.size() == setup_digest_size && is_hex(text);
}

bool is_setup_digest_or_empty(std::string_view text) {
    return text.empty() || is_setup_digest(text);
}

} // namespace

void fields_of(auto& fields, Of<SetupLine> auto& line) {
    fields.required("run", bytes_of(line.run));
    fields("user", bytes_of(line.user));
    fields("target", bytes_of(line.target));
    fields("digest", line.digest);
    fields("again", line.again);
    fields.check(is_setup_digest_or_empty(line.digest) && is_setup_digest_or_empty(line.again),
                 "a digest is invalid");
}

std::string to_text(const SetupLine& line) {
    return text_of(line);
}

Result<SetupLine> parse_setup_line(std::string_view text) {
    return parse<SetupLine>(text, "the line of `setup`");
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
