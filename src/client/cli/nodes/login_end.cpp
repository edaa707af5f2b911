#include "client/cli/nodes/login_end.hpp"

#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"
#include "shared/wire/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

constexpr std::size_t most_of_login = 4096;
constexpr int cannot_run = 126; // of a shell and of engines alike
constexpr int no_such_program = 127;

void append_begin(std::string& text, std::string_view bytes) {
    text += bytes.substr(0, most_of_login - std::min(most_of_login, text.size()));
}

// Words stand in a line that is told.
std::string first_line(std::string_view text) {
    text = trimmed(text);
    return std::string(trimmed(text.substr(0, text.find('\n'))));
}

} // namespace

void LoginEnd::take(StdStream stream, std::string_view bytes) {
    if (stream != StdStream::err) {
        append_begin(out_, bytes);
        return;
    }
    append_begin(err_begin_, bytes);
    err_ += bytes;
    err_.erase(0, err_.size() - std::min(most_of_login, err_.size()));
}

// An engine that cannot start it says so where sshd would speak; sshd's last word is what ended it.
std::string LoginEnd::what_it_said(int code) const {
    const bool never_ran =
        (code == cannot_run || code == no_such_program) && out_.find("SSH-") == std::string::npos;
    auto words = never_ran ? first_line(out_) : std::string();
    return words.empty() ? last_line(err_) : words;
}

std::optional<Error> LoginEnd::error(const std::string& node, int code, bool ssh_has_left) const {
    if (err_begin_.starts_with(layout::init_usage)) {
        return Error{ErrorKind::node, node,
                     "the node was created by a dockdist that could not let anybody log in",
                     "`dockdist up` recreates it"};
    }
    if (code == 0 || ssh_has_left) {
        return std::nullopt;
    }
    auto words = what_it_said(code);
    return Error{ErrorKind::node, node,
                 words.empty() ? fmt::format("its sshd ended with code {}, without a message", code)
                               : std::move(words),
                 "`dockdist check` looks at the node; `dockdist up` recreates it"};
}

} // namespace dockdist
