// What the user's own ssh asks of a person (a passphrase, a one-time code), put by this process on its
// terminal: one question at a time, whatever the number of hosts, and for the passphrase of a key once. ssh
// comes with a question by its askpass, which is this program by another name.
#pragma once

#include "client/async/limiter.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

class SshQuestions {
public:
    explicit SshQuestions(boost::asio::any_io_executor executor);
    SshQuestions(const SshQuestions&) = delete;
    SshQuestions& operator=(const SshQuestions&) = delete;
    ~SshQuestions();

    std::function<void(bool)> hold; // see on_terminal_questions(); may be empty

    // Whether anybody can be asked.
    bool asks() const;
    // Variables for an ssh that is to come here with its questions, which are heard as long as somebody has
    // `open`; about host keys it gets no answer. `folder` is the user's alone, and always the same. Errors:
    // internal.
    struct Ear {
        std::vector<std::string> environment{};
        std::shared_ptr<void> open{};
    };
    Result<Ear> listen(const std::string& folder);

private:
    struct State;
    std::shared_ptr<State> state_;
};

// Variables by which an ssh, and one that it starts for the way, asks nobody (from OpenSSH 8.4 on, or where
// it has no terminal).
std::vector<std::string> asking_nobody();
// `command` with these variables; its program is found as shared/core/program_path.hpp says.
std::vector<std::string> with_variables(const std::vector<std::string>& variables,
                                        std::vector<std::string> command);

} // namespace dockdist
