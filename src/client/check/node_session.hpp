// The client's half of a check's conversation with one node (shared/wire/check.hpp).
#pragma once

#include "client/container/exec_command.hpp"
#include "client/observe/observe.hpp"
#include "shared/wire/check.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace dockdist {

class NodeSession {
public:
    // Two round trips. `node` and `engine` outlive the session. Its end (destruction) ends the node's half.
    static Task<Result<std::unique_ptr<NodeSession>>> open(ContainerEngine& engine, const ReadyNode& node);

    // One question at a time. Errors: the node's own, timeout, what the engine says; where = the node's name.
    // After a timeout or a protocol error the session is of no more use: every later question fails alike.
    template <class Question>
    Task<Result<typename Question::Answer>> ask(Question question,
                                                std::chrono::milliseconds limit = std::chrono::seconds(20)) {
        const auto line = co_await answer_to(Question::ask, wire::question_line(question), limit);
        CO_TRY(line);
        auto answer = wire::parse_answer<Question>(*line);
        if (!answer) {
            co_return note(answer.error());
        }
        co_return answer;
    }

    const ReadyNode& node() const { return node_; }

private:
    NodeSession(const ReadyNode& node, std::unique_ptr<ExecStream> stream, bool podman)
        : node_(node), lines_(std::move(stream)), podman_(podman) {}
    Task<Result<std::string>> answer_to(std::string word, std::string question,
                                        std::chrono::milliseconds limit);
    Task<Result<std::string>> converse(std::string question);
    Error note(Error error);

    const ReadyNode& node_;
    ExecLines lines_;
    bool podman_; // the engine
    std::optional<Error> broken_{};
};

} // namespace dockdist
