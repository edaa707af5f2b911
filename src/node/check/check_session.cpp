#include "node/check/check_session.hpp"

#include "core/text.hpp"
#include "node/check/facts.hpp"
#include "node/check/links.hpp"
#include "node/check/mounts.hpp"
#include "node/system/os.hpp"
#include "wire/check.hpp"
#include "wire/json_reader.hpp"

#include <csignal>
#include <optional>
#include <unistd.h>

namespace dockdist::node {
namespace {

using Answer = Result<wire::CheckAnswer>;

struct Handler {
    std::string_view ask;
    Answer (*answer)(const nlohmann::json& question);
};

// One a question. An answer must come within the client's limit (check/node_session.hpp).
constexpr Handler handlers[] = {
    {"hello", [](const nlohmann::json&) -> Answer { return wire::CheckAnswer{{{"pid", ::getpid()}}}; }},
    {"facts", answer_facts},
    {"look", answer_look},
    {"forget", answer_forget},
    {"links-listen", answer_links_listen},
    {"links-meet", answer_links_meet},
    {"links-send", answer_links_send},
};

class Lines {
public:
    // The next line; nothing at the end of the stream, or where a line is longer than the protocol allows.
    std::optional<std::string> next() {
        while (true) {
            if (const auto end = buffer_.find('\n'); end != std::string::npos) {
                auto line = buffer_.substr(0, end);
                buffer_.erase(0, end + 1);
                return line;
            }
            char bytes[65536];
            const auto count = ::read(STDIN_FILENO, bytes, sizeof bytes);
            if (count < 0 && errno == EINTR) {
                continue;
            }
            if (count <= 0 || buffer_.size() > wire::max_line) {
                return std::nullopt;
            }
            buffer_.append(bytes, static_cast<std::size_t>(count));
        }
    }

private:
    std::string buffer_{};
};

std::string answer(const std::string& line) {
    const auto question = wire::parse_question(line);
    if (!question) {
        return wire::answer_line("", question.error());
    }
    for (const auto& handler : handlers) {
        if (handler.ask == question->ask) {
            auto answered = handler.answer(question->body);
            return answered ? wire::answer_line(question->ask, std::move(answered->body))
                            : wire::answer_line(question->ask, answered.error());
        }
    }
    return wire::answer_line(question->ask,
                             Error{.kind = ErrorKind::protocol,
                                   .message = "the node knows no question `" + printable(question->ask) + "`",
                                   .hint = "run `dockdist up`: the node's toolkit is of another version"});
}

} // namespace

int run_check_session() {
    ::signal(SIGPIPE, SIG_IGN); // a client that has gone must not keep the tokens from being removed
    Lines lines;
    while (const auto line = lines.next()) {
        if (!write_all(STDOUT_FILENO, answer(*line))) {
            break;
        }
    }
    forget_tokens();
    return 0;
}

} // namespace dockdist::node
