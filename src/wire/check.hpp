// A check's conversation with one node: `dockdist-init check`, run as root through an exec with the
// container's environment. The client asks, the node answers; one JSON object a line either way, at most 4
// MiB, one question at a time.
//
//   client → node   {"ask":"limits", …}
//   node → client   {"answer":"limits", …}                      the same word
//                   {"answer":"limits","error":{kind, message, hint}}
//
// What a question needs and what its answer holds stands beside the function that answers it
// (node/check_*.hpp) and the one that reads it (check/*.hpp). An unknown question is answered with an error.
// The end of the client's stream ends the session, and with it whatever it holds: listening ports, tokens in
// mounts.
#pragma once

#include "core/result.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace dockdist::wire {

std::string question_line(std::string_view ask, nlohmann::json question);
std::string answer_line(std::string_view ask, nlohmann::json answer);
std::string answer_line(std::string_view ask, const Error& error);

// The word, and the object that holds it. protocol error for anything else.
struct CheckQuestion {
    std::string ask{};
    nlohmann::json body{};
};
Result<CheckQuestion> parse_question(std::string_view line);

// The answer to `ask`, or the node's own error. protocol error for anything else.
struct CheckAnswer {
    nlohmann::json body{};
};
Result<CheckAnswer> parse_answer(std::string_view line, std::string_view ask);

} // namespace dockdist::wire
