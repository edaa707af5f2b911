#include "node/check/check_session.hpp"

#include "node/check/facts.hpp"
#include "node/check/links.hpp"
#include "node/check/mounts.hpp"
#include "node/check/peers.hpp"
#include "node/system/os.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/check.hpp"
#include "shared/wire/check_facts.hpp"
#include "shared/wire/check_links.hpp"
#include "shared/wire/check_mounts.hpp"

#include <csignal>
#include <optional>
#include <unistd.h>

namespace dockdist::node {
namespace {

struct Handler {
    std::string_view ask;
    std::string (*answer_line)(const wire::CheckQuestion& asked);
};

template <class Question, Result<typename Question::Answer> (*answer)(const Question&)>
constexpr Handler handler{Question::ask, [](const wire::CheckQuestion& asked) {
                              const auto question = wire::read_question<Question>(asked);
                              return question ? wire::answer_line<Question>(answer(*question))
                                              : wire::answer_line(Question::ask, question.error());
                          }};

Result<wire::Hello::Answer> answer_hello(const wire::Hello&) {
    return wire::Hello::Answer{.pid = ::getpid()};
}

// One a question. An answer must come within the client's limit (client/check/node_session.hpp).
constexpr Handler handlers[] = {
    handler<wire::Hello, answer_hello>,           handler<wire::FactsQuestion, answer_facts>,
    handler<wire::LogInsQuestion, answer_logins>, handler<wire::LookForTokens, answer_look>,
    handler<wire::ForgetTokens, answer_forget>,   handler<wire::LinksListen, answer_links_listen>,
    handler<wire::LinksMeet, answer_links_meet>,  handler<wire::LinksSend, answer_links_send>,
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
            return handler.answer_line(*question);
        }
    }
    return wire::answer_line(
        question->ask,
        Error{.kind = ErrorKind::protocol,
              .message = "the node does not know the question `" + printable(question->ask) + "`",
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
