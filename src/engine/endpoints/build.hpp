// Building an image. Included by docker_engine.cpp alone.
#pragma once

// POST /build, by the classic builder: the context goes there as one tar, the answer is a stream of messages.
#include "async/pause.hpp"
#include "async/with_watch.hpp"
#include "core/ascii.hpp"
#include "core/text.hpp"
#include "core/utf8.hpp"
#include "engine/endpoints/images.hpp"
#include "engine/endpoints/requests.hpp"
#include "engine/engine_calls.hpp"
#include "engine/engine_error.hpp"
#include "engine/json_decode.hpp"
#include "engine/json_encode.hpp"
#include "engine/line_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>

namespace dockdist::endpoints {
namespace {

struct FaultOfBuild {
    std::string_view part; // lower case
    std::string_view hint;
};

// What is the matter with the Dockerfile or the files beside it, not with the engine.
constexpr std::array<FaultOfBuild, 9> faults{{
    {"requires buildkit", "engines build for dockdist with the classic builder: leave out what only BuildKit "
                          "knows, or build with docker buildx, push, and name that image"},
    {"dockerfile parse error", "correct that line of the Dockerfile"},
    {"unknown instruction", "correct that line of the Dockerfile"},
    {"failed to reach build target", "name a stage that the Dockerfile has (FROM … AS NAME)"},
    {"target stage", "name a stage that the Dockerfile has (FROM … AS NAME)"},
    {"excluded by .dockerignore", "is it in the folder, and not left out by .dockerignore?"},
    {"copy failed", "is it in the folder, and not left out by .dockerignore?"},
    {"add failed", "is it in the folder, and not left out by .dockerignore?"},
    {"the dockerfile cannot be empty", "write at least a line FROM"},
}};

// "Step 2/3 : RUN make" of Docker, "STEP 2/3: RUN make" of Podman → "step 2/3 (RUN make)"; else empty.
std::string step_of(const std::string& line) {
    constexpr std::size_t longest = 200;
    if (!to_lower(line.substr(0, 5)).starts_with("step ")) {
        return {};
    }
    const auto colon = line.find(':');
    const auto number_end = line.find_first_not_of("0123456789/", 5);
    if (colon == std::string::npos || number_end == 5 || line.find_first_not_of(' ', number_end) != colon) {
        return {};
    }
    auto command = line.substr(std::min(line.find_first_not_of(' ', colon + 1), line.size()));
    if (command.size() > longest) {
        command = command.substr(0, utf8_prefix(command, longest)) + "…";
    }
    return fmt::format("step {} ({})", line.substr(5, number_end - 5), printable(command));
}

// The exit code that a failed step's message tells: "… returned a non-zero code: 3" of Docker, "… exit status
// 3" of Podman.
std::optional<int> exit_code_in(const std::string& message) {
    for (const std::string_view before : {"returned a non-zero code: ", "exit status ", "exit code: "}) {
        const auto at = message.rfind(before);
        if (at == std::string::npos) {
            continue;
        }
        int code = 0;
        const auto* begin = message.data() + at + before.size();
        if (std::from_chars(begin, message.data() + message.size(), code).ec == std::errc()) {
            return code;
        }
    }
    return std::nullopt;
}

// The messages of one build: what step it is at, and what it has come to.
class BuildTracker {
public:
    explicit BuildTracker(std::string what) : what_(std::move(what)) {}

    void take(const BuildMessage& message) {
        if (!message.image_id.empty()) {
            image_id_ = message.image_id;
        }
        line_ += message.output.text;
        for (auto end = line_.find('\n'); end != std::string::npos; end = line_.find('\n')) {
            const auto line = line_.substr(0, end);
            line_.erase(0, end + 1);
            if (auto step = step_of(line); !step.empty()) {
                step_ = std::move(step);
            }
            said_built_ = said_built_ || line.starts_with("Successfully built ");
        }
        constexpr std::size_t longest_line = 4096;
        if (line_.size() > longest_line) {
            line_.resize(longest_line); // no step is announced in it
        }
    }

    Error failure(const std::string& message, std::optional<int> code) const {
        const auto at = step_.empty() ? what_ : what_ + ": " + step_;
        if ((!code || *code == 0) && to_lower(step_).find(" (run ") != std::string::npos) {
            code = exit_code_in(message);
        }
        if (code && *code != 0) {
            return {
                ErrorKind::config, "", fmt::format("{} ended with exit code {}", at, *code),
                "the lines before tell why: correct the Dockerfile or its files, and run the command again"};
        }
        const auto text = to_lower(message);
        const bool full = text.find("no space left on device") != std::string::npos;
        const auto fault = std::ranges::find_if(faults, [&](const FaultOfBuild& known) {
            return !full && text.find(known.part) != std::string::npos;
        });
        const auto whole = fmt::format("{}: {}", at, message);
        return fault != faults.end() ? Error{ErrorKind::config, "", whole, std::string(fault->hint)}
                                     : Error{ErrorKind::engine, "", whole, engine_hint(message)};
    }

    const std::string& image_id() const { return image_id_; }
    bool said_built() const { return said_built_; }

private:
    std::string what_;
    std::string line_{}; // not ended yet
    std::string step_{};
    std::string image_id_{};
    bool said_built_ = false;
};

HttpRequest build_request(const BuildConfig& config, std::span<const char> tar) {
    auto request = post("/build" + query_string({{"version", "1"}, // not BuildKit
                                                 {"t", config.reference.str()},
                                                 {"dockerfile", config.dockerfile},
                                                 {"target", config.target},
                                                 {"platform", config.platform},
                                                 {"buildargs", encode_map(config.args)},
                                                 {"labels", encode_map(config.labels)},
                                                 {"pull", config.pull ? "1" : ""},
                                                 {"nocache", config.no_cache ? "1" : ""},
                                                 {"rm", "1"},
                                                 {"forcerm", "1"}}));
    request.content_type = "application/x-tar";
    request.borrowed_body = tar;
    if (!config.registry_config.empty()) {
        request.headers.emplace_back("X-Registry-Config", config.registry_config);
    }
    return request;
}

// A step may say nothing for hours, and so may the connection when the host is gone. In a silence the engine
// is asked for a sign of life; it is given up when two questions in a row have no answer.
Task<Error> watch_engine(Session session, std::string what, std::shared_ptr<std::uint64_t> heard) {
    for (int unanswered = 0;;) {
        const auto before = *heard;
        co_await pause_for(session->endpoint.limits.build_silence);
        if (*heard != before) {
            unanswered = 0;
            continue;
        }
        const auto alive = co_await session->negotiate(true);
        unanswered = alive ? 0 : unanswered + 1;
        if (unanswered == 2) {
            auto error = alive.error();
            error.message =
                fmt::format("{}: nothing comes from the engine any more: {}", what, error.message);
            co_return error;
        }
    }
}

// The error of an answer that is no 200: what is the Dockerfile's fault is told as such.
Error refused(const std::string& what, Error error) {
    if (error.kind != ErrorKind::engine && error.kind != ErrorKind::not_found) {
        return error;
    }
    const auto message =
        error.message.starts_with(what + ": ") ? error.message.substr(what.size() + 2) : error.message;
    auto judged = BuildTracker(what).failure(message, std::nullopt);
    if (judged.kind == ErrorKind::config) {
        judged.where = error.where;
        return judged;
    }
    return error;
}

Task<Result<std::string>> run_build(Session session, BuildConfig config, std::span<const char> tar,
                                    std::function<void(const BuildOutput&)> on_output,
                                    std::shared_ptr<std::uint64_t> heard) {
    const auto what = "build image " + config.reference.str();
    const auto tell = [&](const BuildOutput& output) {
        ++*heard;
        if (on_output) {
            on_output(output);
        }
    };
    auto stream = co_await session->open_upload(build_request(config, tar), what,
                                                [&](std::uint64_t sent) { tell({.sent = sent}); });
    if (!stream) {
        co_return refused(what, stream.error());
    }
    LineStream messages(std::move(*stream));
    BuildTracker tracker(what);
    while (true) {
        const auto line = co_await messages.next();
        if (!line) {
            auto error = session->located(line.error());
            error.message = fmt::format("{}: {}", what, error.message);
            co_return error;
        }
        if (!*line) {
            break;
        }
        const auto message = decode_build_message(**line);
        if (!message) {
            auto error = session->located(message.error());
            error.message = fmt::format("{}: {}", what, error.message);
            co_return error;
        }
        if (!message->error.empty()) {
            co_return session->located(tracker.failure(message->error, message->exit_code));
        }
        tracker.take(*message);
        if (message->output != BuildOutput{}) {
            tell(message->output);
        } else {
            ++*heard;
        }
    }
    if (!tracker.image_id().empty()) {
        co_return tracker.image_id();
    }
    if (!tracker.said_built()) {
        co_return session->located({ErrorKind::protocol, "", what + ": it ended without an image",
                                    "the engine may have been restarted: run the command again"});
    }
    const auto built = co_await inspect_image_of(session, config.reference); // Podman may tell no id
    if (!built) {
        co_return built.error();
    }
    co_return built->id;
}

} // namespace

class BuildEndpoints : public virtual EngineCalls {
public:
    Task<Result<std::string>> build_image(BuildConfig config, std::span<const char> tar,
                                          std::function<void(const BuildOutput&)> on_output) override {
        const auto session = session_;
        const auto heard = std::make_shared<std::uint64_t>(0);
        auto what = "build image " + config.reference.str();
        co_return co_await with_watch(run_build(session, std::move(config), tar, std::move(on_output), heard),
                                      watch_engine(session, std::move(what), heard));
    }
};

} // namespace dockdist::endpoints
