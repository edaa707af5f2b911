#include "client/engine/transport/ssh/questions.hpp"

#include "client/async/throw_if_cancelled.hpp"
#include "client/async/with_watch.hpp"
#include "client/engine/docker_engine.hpp"
#include "client/engine/transport/ssh/terminal_question.hpp"
#include "shared/core/program_path.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace dockdist {
namespace {

using boost::asio::local::stream_protocol;

constexpr std::string_view askpass_name = "dockdist-askpass";
constexpr std::string_view socket_name = "ask";
constexpr std::string_view of_a_key = "Enter passphrase for ";
constexpr std::string_view of_a_host_key = "(yes/no";
constexpr int tries = 3; // as ssh
constexpr std::size_t longest_question = 64 * 1024;
constexpr char end_of_question = '\0';
constexpr auto tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

struct Question {
    std::string asker{}; // the process id of the ssh
    std::string kind{};  // SSH_ASKPASS_PROMPT: "none" only shows something
    std::string text{};
};

Question question_in(const std::string& said) {
    const auto first = std::min(said.find('\n'), said.size());
    const auto second = std::min(said.find('\n', first + 1), said.size());
    return {said.substr(0, first),
            said.substr(std::min(first + 1, said.size()), second - std::min(first + 1, second)),
            said.substr(std::min(second + 1, said.size()))};
}

} // namespace

struct SshQuestions::State {
    explicit State(boost::asio::any_io_executor where)
        : executor(std::move(where)), acceptor(executor), asking(executor, 1) {}

    boost::asio::any_io_executor executor;
    stream_protocol::acceptor acceptor;
    Limiter asking;
    std::weak_ptr<void> open{};                   // somebody may ask
    std::function<void(bool)>* hold = nullptr;    // null: over
    std::map<std::string, std::string> answers{}; // of keys' passphrases, by the question
    std::map<std::string, int> typed{};
    std::map<std::pair<std::string, std::string>, std::string> given{}; // by who asked what

    static Task<void> accept(std::shared_ptr<State> self) {
        while (!self->open.expired()) {
            auto [error, socket] = co_await self->acceptor.async_accept(tuple);
            if (error) {
                break;
            }
            boost::asio::co_spawn(self->executor, answer(self, std::move(socket)), boost::asio::detached);
        }
    }

    static Task<void> answer(std::shared_ptr<State> self, stream_protocol::socket socket) {
        std::string said;
        const auto [error, size] = co_await boost::asio::async_read_until(
            socket, boost::asio::dynamic_buffer(said, longest_question), end_of_question, tuple);
        if (error) {
            co_return;
        }
        const auto question = question_in(said.substr(0, size - 1));
        const auto permit = co_await self->asking.acquire();
        if (self->hold == nullptr || !*self->hold || question.text.find(of_a_host_key) != std::string::npos) {
            co_return;
        }
        if (question.kind == "none") { // until ssh takes it away
            (*self->hold)(true);
            const TerminalNote note(question.text);
            (void)co_await gone(socket);
        } else if (const auto known = self->known_answer(question)) {
            const auto answer = "+" + *known;
            co_await boost::asio::async_write(socket, boost::asio::buffer(answer), tuple);
        } else if (self->typed[question.text] < tries || !question.text.starts_with(of_a_key)) {
            (*self->hold)(true);
            const auto typed =
                co_await with_watch(ask_on_terminal(self->executor, question.text), gone(socket));
            if (typed) {
                self->keep(question, *typed);
                const auto answer = "+" + *typed;
                co_await boost::asio::async_write(socket, boost::asio::buffer(answer), tuple);
            }
        }
        if (self->hold != nullptr) {
            (*self->hold)(false);
        }
    }

    // Nobody waits for the answer any more.
    static Task<Error> gone(stream_protocol::socket& socket) {
        char end = 0;
        (void)co_await socket.async_read_some(boost::asio::buffer(&end, 1), tuple);
        co_await throw_if_cancelled(boost::asio::error::operation_aborted);
        co_return Error{.message = "the ssh that asked has ended"};
    }

    // An ssh that asks again was given a wrong one.
    std::optional<std::string> known_answer(const Question& question) {
        const auto known = answers.find(question.text);
        if (known == answers.end()) {
            return std::nullopt;
        }
        auto& last = given[{question.asker, question.text}];
        if (last == known->second) {
            answers.erase(known);
            return std::nullopt;
        }
        last = known->second;
        return last;
    }

    void keep(const Question& question, const std::string& answer) {
        if (question.text.starts_with(of_a_key)) {
            ++typed[question.text];
            answers[question.text] = answer;
            given[{question.asker, question.text}] = answer;
        }
    }
};

SshQuestions::SshQuestions(boost::asio::any_io_executor executor)
    : hold([](bool) {}), state_(std::make_shared<State>(std::move(executor))) {
    state_->hold = &hold;
}

SshQuestions::~SshQuestions() {
    state_->hold = nullptr;
    boost::system::error_code ignored;
    ignored = state_->acceptor.close(ignored);
}

bool SshQuestions::asks() const {
    return hold && has_terminal();
}

Result<SshQuestions::Ear> SshQuestions::listen(const std::string& folder) {
    const auto program = folder + "/" + std::string(askpass_name);
    auto& acceptor = state_->acceptor;
    if (!acceptor.is_open()) {
        std::error_code failed;
        std::filesystem::create_symlink(std::filesystem::read_symlink("/proc/self/exe", failed), program,
                                        failed);
        boost::system::error_code error;
        const stream_protocol::endpoint place(folder + "/" + std::string(socket_name));
        if (failed || acceptor.open(place.protocol(), error) || acceptor.bind(place, error) ||
            acceptor.listen(boost::asio::socket_base::max_listen_connections, error)) {
            return Error{ErrorKind::internal, folder,
                         "cannot be used: " + (failed ? failed.message() : error.message()), ""};
        }
    }
    auto open = state_->open.lock();
    if (!open) {
        open = std::shared_ptr<void>(state_.get(), [state = state_](void*) { state->acceptor.cancel(); });
        state_->open = open;
        boost::asio::co_spawn(state_->executor, State::accept(state_), boost::asio::detached);
    }
    std::vector<std::string> environment{"SSH_ASKPASS=" + program, "SSH_ASKPASS_REQUIRE=force"};
    if (std::getenv("DISPLAY") == nullptr) { // before OpenSSH 8.4 it asks so where it has no terminal
        environment.emplace_back("DISPLAY=none:0");
    }
    return Ear{std::move(environment), std::move(open)};
}

std::vector<std::string> asking_nobody() {
    return {"SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=force"};
}

std::vector<std::string> with_variables(const std::vector<std::string>& variables,
                                        std::vector<std::string> command) {
    if (const auto program = find_in_path(command.front()); !program.empty()) { // else its start says so
        command.front() = program; // env would look for it in any folder
        command.insert(command.begin(), variables.begin(), variables.end());
        command.insert(command.begin(), "env");
    }
    return command;
}

std::optional<int> answer_for_ssh(int argc, char** argv) {
    const std::filesystem::path self(argc > 0 ? argv[0] : "");
    if (self.filename() != askpass_name) {
        return std::nullopt;
    }
    const char* const kind = std::getenv("SSH_ASKPASS_PROMPT");
    boost::asio::io_context io;
    stream_protocol::socket socket(io);
    boost::system::error_code error;
    const auto question =
        std::to_string(::getppid()) + "\n" + (kind == nullptr ? "" : kind) + "\n" + (argc > 1 ? argv[1] : "");
    std::string answer;
    if (socket.connect((self.parent_path() / socket_name).string(), error)) {
        return 1;
    }
    boost::asio::write(socket, boost::asio::buffer(question + end_of_question), error);
    boost::asio::read(socket, boost::asio::dynamic_buffer(answer), error);
    if (!answer.starts_with('+')) {
        return 1;
    }
    answer.erase(0, 1);
    answer += '\n';
    return std::fwrite(answer.data(), 1, answer.size(), stdout) == answer.size() && std::fflush(stdout) == 0
               ? 0
               : 1;
}

} // namespace dockdist
