#include "check/node_session.hpp"

#include "async/with_timeout.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "wire/layout.hpp"

namespace dockdist {
namespace {

Error located(Error error, const ReadyNode& node) {
    error.where = node.name.str();
    return error;
}

} // namespace

Task<Result<std::unique_ptr<NodeSession>>> NodeSession::open(ContainerEngine& engine, const ReadyNode& node) {
    ExecConfig config;
    // Root, for the kernel's log and the jobs' folders; the node itself does as container.user what a job
    // does.
    config.command = {layout::init, "with-environment", "--user", "0", "--", layout::init, "check"};
    config.user = "0:0";
    auto started = co_await start_command(engine, node.id, std::move(config));
    if (!started) {
        co_return located(started.error(), node);
    }
    co_return std::unique_ptr<NodeSession>(new NodeSession(node, std::move(started->stream)));
}

Task<Result<wire::CheckAnswer>> NodeSession::converse(std::string word, nlohmann::json question) {
    if (const auto written = co_await lines_.write(wire::question_line(word, std::move(question)));
        !written) {
        broken_ = located(written.error(), node_);
        co_return *broken_;
    }
    const auto line = co_await lines_.next_line();
    if (!line || !*line) {
        const auto said = printable(lines_.err());
        broken_ = line ? Error{ErrorKind::node, node_.name.str(),
                               "the node ended the check" + (said.empty() ? "" : ": " + said),
                               "see `docker logs` of its container"}
                       : located(line.error(), node_);
        co_return *broken_;
    }
    auto answer = wire::parse_answer(**line, word);
    if (!answer) {
        auto error = located(answer.error(), node_);
        if (error.kind == ErrorKind::protocol) {
            broken_ = error;
        }
        co_return error;
    }
    co_return answer;
}

Task<Result<wire::CheckAnswer>> NodeSession::ask(std::string word, nlohmann::json question,
                                                 std::chrono::milliseconds limit) {
    if (broken_) {
        co_return *broken_;
    }
    const Error late{ErrorKind::timeout, node_.name.str(),
                     "no answer to the question for " + word + " within " + format_duration(limit),
                     "is the machine overloaded, or a mount or a driver hanging?"};
    auto answer = co_await with_timeout(converse(std::move(word), std::move(question)), limit, late);
    if (!answer && answer.error().kind == ErrorKind::timeout) {
        broken_ = answer.error();
    }
    co_return answer;
}

} // namespace dockdist
