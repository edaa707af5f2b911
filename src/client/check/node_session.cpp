#include "client/check/node_session.hpp"

#include "client/async/with_timeout.hpp"
#include "client/container/engine_words.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"
#include "shared/wire/layout.hpp"

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
    co_return std::unique_ptr<NodeSession>(new NodeSession(node, std::move(*started), engine.podman()));
}

// Located; after some errors the session is of no more use.
Error NodeSession::note(Error error) {
    error = located(std::move(error), node_);
    if (error.kind == ErrorKind::protocol || error.kind == ErrorKind::timeout) {
        broken_ = error;
    }
    return error;
}

Task<Result<std::string>> NodeSession::converse(std::string question) {
    if (const auto written = co_await lines_.write(std::move(question)); !written) {
        broken_ = located(written.error(), node_);
        co_return *broken_;
    }
    auto line = co_await lines_.next_line();
    if (!line || !*line) {
        const auto said = printable(lines_.err());
        broken_ = line ? Error{ErrorKind::node, node_.name.str(),
                               "the node ended the check" + (said.empty() ? "" : ": " + said),
                               see_container_log(podman_)}
                       : located(line.error(), node_);
        co_return *broken_;
    }
    co_return **std::move(line);
}

Task<Result<std::string>> NodeSession::answer_to(std::string word, std::string question,
                                                 std::chrono::milliseconds limit) {
    if (broken_) {
        co_return *broken_;
    }
    const Error late{ErrorKind::timeout, node_.name.str(),
                     "no answer to the question for " + word + " within " + format_duration(limit),
                     "is the machine overloaded, or a mount or a driver hanging?"};
    auto line = co_await with_timeout(converse(std::move(question)), limit, late);
    if (!line && line.error().kind == ErrorKind::timeout) {
        broken_ = line.error();
    }
    co_return line;
}

} // namespace dockdist
