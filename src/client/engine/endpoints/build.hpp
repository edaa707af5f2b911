// Building an image. Included by docker_engine.cpp alone.
#pragma once

// POST /build, whose answer is a stream of messages. The folder goes there as one tar; with BuildKit the
// engine asks for its files, and for whatever else it needs, over a session of its own. (A tar it would take
// as well, but not where images are in containerd's store: there it looks for it by a name that nobody
// knows.)
#include "client/async/with_watch.hpp"
#include "client/engine/endpoints/build_tracker.hpp"
#include "client/engine/endpoints/images.hpp"
#include "client/engine/endpoints/requests.hpp"
#include "client/engine/endpoints/serve_build.hpp"
#include "client/engine/endpoints/watch.hpp"
#include "client/engine/engine_calls.hpp"
#include "client/engine/json_encode.hpp"
#include "client/engine/line_stream.hpp"
#include "shared/core/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

namespace dockdist::endpoints {
namespace {

// What Podman's service is to find where in the tar; it moves it out of there before it builds.
std::string secrets_in_tar(const std::vector<BuildSecret>& secrets) {
    std::vector<std::string> all;
    for (const auto& secret : secrets) {
        all.push_back(fmt::format("id={},src={}", secret.id, secret.file));
    }
    return encode_list(all);
}

// `asks_at` is the session at which BuildKit asks back; empty with other builders.
HttpRequest build_request(const BuildConfig& config, std::span<const char> tar, Builder builder,
                          const std::string& asks_at) {
    auto request =
        post("/build" +
             query_string({{"version", builder == Builder::buildkit ? "2" : "1"},
                           {"session", asks_at},
                           {"remote", asks_at.empty() ? "" : "client-session"},
                           {"secrets", builder == Builder::buildah ? secrets_in_tar(config.secrets) : ""},
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
    if (asks_at.empty()) {
        request.content_type = "application/x-tar";
        request.borrowed_body = tar;
    }
    if (!config.registry_config.empty()) {
        request.headers.emplace_back("X-Registry-Config", config.registry_config);
    }
    return request;
}

// An error's message begins with what was being done.
std::string without_beginning(const std::string& message, const std::string& what) {
    return message.starts_with(what + ": ") ? message.substr(what.size() + 2) : message;
}

// The error of an answer that is no 200: what is the Dockerfile's fault is told as such.
Error refused(const std::string& what, bool podman, Error error) {
    if (error.kind != ErrorKind::engine && error.kind != ErrorKind::not_found) {
        return error;
    }
    auto judged = BuildTracker(what, podman).failure(without_beginning(error.message, what), std::nullopt);
    if (judged.kind == ErrorKind::config) {
        judged.where = error.where;
        return judged;
    }
    return error;
}

Task<Result<std::string>> run_build(Session session, BuildConfig config, std::span<const char> tar,
                                    std::function<void(const BuildOutput&)> on_output,
                                    std::shared_ptr<std::uint64_t> heard, std::string asks_at) {
    const auto what = "build image " + config.reference.str();
    const auto tell = [&](const BuildOutput& output) {
        ++*heard;
        if (on_output) {
            on_output(output);
        }
    };
    auto stream = co_await session->open_upload(build_request(config, tar, session->builder(), asks_at), what,
                                                [&](std::uint64_t sent) { tell({.sent = sent}); });
    if (!stream) {
        co_return refused(what, session->podman(), stream.error());
    }
    LineStream messages(std::move(*stream));
    BuildTracker tracker(what, session->podman());
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
        ++*heard;
        if (!message->error.empty()) {
            if (auto lines = tracker.failed_output(); !lines.empty()) {
                tell({.text = std::move(lines)});
            }
            co_return session->located(tracker.failure(message->error, message->exit_code));
        }
        const auto told = tracker.take(*message);
        if (!told) {
            auto error = session->located(told.error());
            error.message = fmt::format("{}: {}", what, error.message);
            co_return error;
        }
        for (const auto& output : *told) {
            tell(output);
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
    CO_TRY(built);
    co_return built->id;
}

// By whoever stands before the engine, or by one that has no sessions; an engine that is out of order answers
// otherwise, and would not build either.
bool refuses_sessions(int status) {
    static constexpr std::array<int, 7> refusals{400, 403, 404, 405, 426, 501, 502};
    return std::ranges::find(refusals, status) != refusals.end() || (status >= 200 && status < 300);
}

constexpr std::string_view let_session_through =
    "let POST /session (an upgrade to h2c) pass whatever is in front of that engine, a proxy or an "
    "authorization plugin, or build at another host (`image.from`)";

Error refused_session(const std::string& what, Error answered, int status, bool secrets) {
    const auto said = without_beginning(answered.message, what);
    answered.message = fmt::format(
        "{}: POST /session is refused there (status {}), over which BuildKit asks for files{}: {}", what,
        status, secrets ? " and for the secrets of `image.build`" : "", said);
    answered.kind = ErrorKind::engine;
    if (answered.hint.empty()) {
        answered.hint = let_session_through;
    }
    return answered;
}

} // namespace

class BuildEndpoints : public virtual EngineCalls {
public:
    Task<Result<Builder>> builder(bool secrets) override {
        const auto session = session_;
        CO_TRY(co_await session->negotiate());
        if (secrets && !session->builds_with_secrets()) {
            co_return session->located(
                {ErrorKind::config, "",
                 session->podman()
                     ? "Podman before 4 leaves a build's secrets among the image's files"
                     : "BuildKit is turned off in that engine, and without it a build has no secrets",
                 session->podman() ? "build at another host (`image.from`)"
                                   : "write \"features\": {\"buildkit\": true} into the host's "
                                     "/etc/docker/daemon.json and restart Docker, or build at another host "
                                     "(`image.from`)"});
        }
        if (const int status = session->refused_session(); status != 0 && secrets) {
            co_return session->located(
                {ErrorKind::config, "",
                 fmt::format("POST /session is refused there (status {}), and a build's secrets go that way "
                             "alone",
                             status),
                 std::string(let_session_through)});
        }
        co_return session->builder();
    }

    Task<Result<std::string>> build_image(BuildConfig config, std::span<const char> tar,
                                          std::function<void(const BuildOutput&)> on_output) override {
        const auto session = session_;
        const auto what = "build image " + config.reference.str();
        const auto builds_with = co_await builder(!config.secrets.empty());
        CO_TRY(builds_with);
        const auto heard = std::make_shared<std::uint64_t>(0);
        if (*builds_with != Builder::buildkit) {
            co_return co_await with_watch(
                run_build(session, std::move(config), tar, std::move(on_output), heard, ""),
                watch_engine(session, what, heard));
        }
        // Whoever knows it could ask for the secrets, too, by a build of his own at that engine.
        const auto id = random_hex(32);
        int status = 0;
        auto questions = co_await session->open(session_request(id, config.folder_key), what, &status);
        constexpr int upgraded = 101;
        if (questions && status != upgraded) {
            questions =
                session->located({ErrorKind::protocol, "", what + ": the answer is not an upgrade", ""});
        }
        if (!questions) {
            if (!refuses_sessions(status)) {
                co_return questions.error();
            }
            session->refuse_session(status);
            co_return refused_session(what, questions.error(), status, !config.secrets.empty());
        }
        auto answers = serve_build(std::move(*questions), {.secrets = config.secrets,
                                                           .folders = config.folders,
                                                           .login = config.login,
                                                           .on_sent = [on_output, heard](std::uint64_t sent) {
                                                               ++*heard;
                                                               if (on_output) {
                                                                   on_output({.sent = sent});
                                                               }
                                                           }});
        auto built = co_await with_watch(
            with_watch(run_build(session, std::move(config), tar, std::move(on_output), heard, id),
                       std::move(answers)),
            watch_engine(session, what, heard));
        if (!built && built.error().where.empty()) {
            co_return session->located(built.error());
        }
        co_return built;
    }
};

} // namespace dockdist::endpoints
