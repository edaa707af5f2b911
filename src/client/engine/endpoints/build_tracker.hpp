// The messages of one build: which step it is at, what it has come to, and what its failure means. Included
// by docker_engine.cpp alone.
#pragma once

#include "client/engine/buildkit/build_steps.hpp"
#include "client/engine/engine_error.hpp"
#include "client/engine/json_decode.hpp"
#include "shared/core/ascii.hpp"
#include "shared/core/text.hpp"
#include "shared/core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>

namespace dockdist::endpoints {
namespace {

struct FaultOfBuild {
    std::string_view part; // lower case
    std::string_view hint;
};

constexpr std::string_view no_such_secret =
    "give it as one of `image.build.secrets`, under the name that the Dockerfile has for it (id=NAME)";
constexpr std::string_view no_agent =
    "dockdist gives no ssh agent to a build (RUN --mount=type=ssh): give a token or a "
    "key as one of `image.build.secrets`";

// What is the matter with the Dockerfile or the files beside it, not with the engine.
constexpr std::array<FaultOfBuild, 16> faults{{
    {"requires buildkit",
     "that was the classic builder: where BuildKit is turned off, write "
     "\"features\": {\"buildkit\": true} into the host's /etc/docker/daemon.json and restart Docker; where "
     "POST /session is refused, let it pass; or leave out what only BuildKit knows"},
    {"no active session",
     "the connection over which the engine asks for secrets was lost: run the command again"},
    {"no ssh handler", no_agent},
    {"no ssh key", no_agent},
    {"no ssh with id", no_agent}, // Buildah
    {"no secret with id", no_such_secret},
    {"unknown instruction",
     "correct that line of the Dockerfile; a heredoc (RUN <<END) needs Docker 23, Podman 4.8, or, "
     "on older Docker, a line `# syntax=docker/dockerfile:1`"},
    {"dockerfile parse error", "correct that line of the Dockerfile"},
    {"failed to reach build target", "name a stage that the Dockerfile has (FROM … AS NAME)"},
    {"target stage", "name a stage that the Dockerfile has (FROM … AS NAME)"},
    {"excluded by .dockerignore", "is it in the folder, and not left out by .dockerignore?"},
    {"copy failed", "is it in the folder, and not left out by .dockerignore?"},
    {"add failed", "is it in the folder, and not left out by .dockerignore?"},
    {"failed to compute cache key", "is it in the folder, and not left out by .dockerignore?"},
    {"failed to calculate checksum of ref", "is it in the folder, and not left out by .dockerignore?"},
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

// What BuildKit puts in front of what is the matter.
std::string without_wrappings(std::string message) {
    for (bool more = true; more;) {
        more = false;
        for (const std::string_view wrapping :
             {"failed to solve with frontend dockerfile.v0: ", "failed to solve with frontend gateway.v0: ",
              "failed to create LLB definition: ", "failed to solve: ",
              "rpc error: code = Unknown desc = "}) {
            if (message.starts_with(wrapping)) {
                message.erase(0, wrapping.size());
                more = true;
            }
        }
    }
    return message;
}

// The messages of one build: what step it is at, and what it has come to.
class BuildTracker {
public:
    BuildTracker(std::string what, bool podman) : what_(std::move(what)), podman_(podman) {}

    // What there is to tell of it. Errors: protocol.
    Result<std::vector<BuildOutput>> take(const BuildMessage& message) {
        if (!message.trace.empty()) {
            const auto trace = decode_build_trace(message.trace);
            TRY(trace);
            return steps_.take(*trace);
        }
        take_text(message);
        return message.output == BuildOutput{} ? std::vector<BuildOutput>{}
                                               : std::vector<BuildOutput>{message.output};
    }

    // What the step that failed has written last, where BuildKit tells it.
    std::string failed_output() const { return steps_.failed_output(); }

    Error failure(const std::string& wrapped, std::optional<int> code) const {
        const auto message = without_wrappings(wrapped);
        auto step = step_;
        if (const auto failed = steps_.failed_step(); !failed.empty()) {
            step = printable(failed);
        }
        const auto at = step.empty() ? what_ : what_ + ": " + step;
        if ((!code || *code == 0) && to_lower(step).find(" (run ") != std::string::npos) {
            code = exit_code_in(message);
        }
        if (code && *code != 0) {
            return {
                ErrorKind::config, "", fmt::format("{} ended with exit code {}", at, *code),
                "the lines before tell why: correct the Dockerfile or its files, and run the command again"};
        }
        const auto whole = fmt::format("{}: {}", at, message);
        if (step.starts_with("resolve image config for ")) { // of what `# syntax=` names
            return {ErrorKind::engine, "", whole,
                    "the Dockerfile's line `# syntax=` makes the engine fetch that image: where it cannot, "
                    "leave the line out (Engine 23 and newer support heredocs and RUN --mount without it)"};
        }
        const auto text = to_lower(message);
        if (step.find("type=secret") != std::string::npos && text.ends_with("not found")) { // BuildKit
            return {ErrorKind::config, "", whole, std::string(no_such_secret)};
        }
        const bool full = text.find("no space left on device") != std::string::npos;
        const auto fault = std::ranges::find_if(faults, [&](const FaultOfBuild& known) {
            return !full && text.find(known.part) != std::string::npos;
        });
        return fault != faults.end() ? Error{ErrorKind::config, "", whole, std::string(fault->hint)}
                                     : Error{ErrorKind::engine, "", whole, engine_hint(message, podman_)};
    }

    const std::string& image_id() const { return image_id_; }
    bool said_built() const { return said_built_; }

private:
    void take_text(const BuildMessage& message) {
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

    std::string what_;
    bool podman_;
    std::string line_{}; // not ended yet
    std::string step_{};
    std::string image_id_{};
    bool said_built_ = false;
    BuildSteps steps_{};
};

} // namespace
} // namespace dockdist::endpoints
