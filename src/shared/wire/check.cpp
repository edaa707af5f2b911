#include "shared/wire/check.hpp"

#include "shared/wire/fields.hpp"

namespace dockdist::wire {

void fields_of(auto& /*fields*/, Of<Hello> auto& /*question*/) {}
DEFINE_BY_FIELDS(Hello)

void fields_of(auto& fields, Of<Hello::Answer> auto& answer) {
    fields.required("pid", answer.pid);
}
DEFINE_BY_FIELDS(Hello::Answer)

std::string question_line(std::string_view ask, nlohmann::json question) {
    question["ask"] = ask;
    return dump(question) + "\n";
}

std::string answer_line(std::string_view ask, nlohmann::json answer) {
    answer["answer"] = ask;
    return dump(answer) + "\n";
}

std::string answer_line(std::string_view ask, const Error& error) {
    return answer_line(ask, failure_to_json(error));
}

Result<CheckQuestion> parse_question(std::string_view line) {
    auto body = parse_object(line, "a question of the check");
    TRY(body);
    CheckQuestion question;
    ObjectReader reader(*body, "a question of the check");
    reader.require("ask");
    reader.read("ask", question.ask);
    if (reader.failed()) {
        return reader.error();
    }
    question.body = std::move(*body);
    return question;
}

Result<CheckAnswer> parse_answer(std::string_view line, std::string_view ask) {
    auto body = parse_object(line, "an answer to the check");
    TRY(body);
    std::string answered;
    ObjectReader reader(*body, "an answer to the check");
    reader.require("answer");
    reader.read("answer", answered);
    if (reader.failed()) {
        return reader.error();
    }
    if (answered != ask) {
        return Error{ErrorKind::protocol, "",
                     "the node answered `" + answered + "` to `" + std::string(ask) + "`", ""};
    }
    if (auto error = failure_in(*body, "an answer to the check")) {
        return *std::move(error);
    }
    return CheckAnswer{.body = std::move(*body)};
}

} // namespace dockdist::wire
