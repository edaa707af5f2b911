// A check's conversation with one node: `dockdist-init check`, run as root through an exec with the
// container's environment. The client asks, the node answers; one JSON object a line either way, at most 4
// MiB, one question at a time.
//
//   client → node   {"ask":"look", …}
//   node → client   {"answer":"look", …}                      the same word
//                   {"answer":"look","error":{kind, message, hint}}
//
// A question is a struct that has its word as `ask` and the type of its answer as `Answer`; beside each of
// them stand its to_json and its read_fields. They are
//   facts, logins                           shared/wire/check_facts.hpp
//   look, forget                            shared/wire/check_mounts.hpp
//   links-listen, links-meet, links-send    shared/wire/check_links.hpp
//   hello                                   below
// An unknown question is answered with an error. The end of the client's stream ends the session, and with
// it whatever it holds: listening ports, tokens in mounts.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/partial.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace dockdist::wire {

// Whether anybody is there.
struct Hello {
    static constexpr const char* ask = "hello";
    struct Answer {
        int pid = 0; // of the session
    };
};
void to_json(nlohmann::json& json, const Hello& question);
void read_fields(ObjectReader& reader, Hello& question);
void to_json(nlohmann::json& json, const Hello::Answer& answer);
void read_fields(ObjectReader& reader, Hello::Answer& answer);

// The word, and the object that holds it. protocol error for anything else.
struct CheckQuestion {
    std::string ask{};
    nlohmann::json body{};
};
Result<CheckQuestion> parse_question(std::string_view line);

// The object that answers `ask`, or the node's own error. protocol error for anything else.
struct CheckAnswer {
    nlohmann::json body{};
};
Result<CheckAnswer> parse_answer(std::string_view line, std::string_view ask);

std::string question_line(std::string_view ask, nlohmann::json question);
std::string answer_line(std::string_view ask, nlohmann::json answer);
std::string answer_line(std::string_view ask, const Error& error);

template <class Question>
std::string question_line(const Question& question) {
    return question_line(Question::ask, nlohmann::json(question));
}

template <class Question>
Result<Question> read_question(const CheckQuestion& asked) {
    Question question;
    const auto read = read_value(asked.body, std::string("the question for ") + Question::ask, question);
    return read ? Result<Question>(std::move(question)) : read.error();
}

template <class Question>
std::string answer_line(const Result<typename Question::Answer>& answer) {
    return answer ? answer_line(Question::ask, nlohmann::json(*answer))
                  : answer_line(Question::ask, answer.error());
}

template <class Question>
Result<typename Question::Answer> parse_answer(std::string_view line) {
    const auto answered = parse_answer(line, Question::ask);
    TRY(answered);
    typename Question::Answer answer;
    const auto read = read_value(answered->body, std::string("the answer to ") + Question::ask, answer);
    return read ? Result<typename Question::Answer>(std::move(answer)) : read.error();
}

} // namespace dockdist::wire
