// Images: pulled, told about, taken out and put in. Included by docker_engine.cpp alone.
#pragma once

#include "async/with_timeout.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "engine/endpoints/requests.hpp"
#include "engine/engine_calls.hpp"
#include "engine/engine_error.hpp"
#include "engine/json_decode.hpp"
#include "engine/line_stream.hpp"

#include <fmt/format.h>

namespace dockdist::endpoints {
namespace {

struct RepositoryAndTag {
    std::string repository{}, tag{};
};

// Without a tag the engine would pull every tag of the repository.
RepositoryAndTag split_reference(const std::string& reference) {
    if (const auto at = reference.find('@'); at != std::string::npos) {
        return {reference.substr(0, at), reference.substr(at + 1)};
    }
    const auto slash = reference.rfind('/');
    const auto colon = reference.rfind(':');
    if (colon != std::string::npos && (slash == std::string::npos || colon > slash)) {
        return {reference.substr(0, colon), reference.substr(colon + 1)};
    }
    return {reference, "latest"};
}

std::string image_path(const ImageRef& ref) {
    return "/images/" + (ref.empty() ? std::string("-") : percent_encode(ref.str(), "/:@"));
}

// Docker Engine needs no TLS of a registry on loopback; Podman does, unless its own call says otherwise.
bool is_podman_on_loopback(const EngineSession& session, const std::string& repository) {
    return session.podman() && repository.starts_with("127.0.0.1:");
}

std::string pull_path(const EngineSession& session, const ImageRef& ref, const std::string& platform) {
    const auto [repository, tag] = split_reference(ref.str());
    if (is_podman_on_loopback(session, repository)) {
        return "/libpod/images/pull" + query_string({{"reference", ref.str()}, {"tlsVerify", "false"}});
    }
    return "/images/create" + query_string({{"fromImage", repository}, {"tag", tag}, {"platform", platform}});
}

class StreamedBytes final : public ByteSource {
public:
    StreamedBytes(Session session, std::unique_ptr<HttpStream> stream)
        : session_(std::move(session)), stream_(std::move(stream)) {}
    Task<Result<std::string>> read() override {
        auto bytes = co_await stream_->read();
        if (!bytes) {
            co_return session_->located(bytes.error());
        }
        co_return bytes;
    }

private:
    Session session_;
    std::unique_ptr<HttpStream> stream_;
};

// For calls of other groups too.
Task<Result<ImageDetails>> inspect_image_of(Session session, ImageRef ref) {
    const auto answer = co_await session->call(get(image_path(ref) + "/json"), "look at image " + ref.str());
    if (!answer) {
        co_return answer.error();
    }
    co_return decoded(*session, decode_image(answer->body));
}

Task<Status> tag_image_of(Session session, ImageRef ref, std::string repository, std::string tag) {
    const auto answer = co_await session->call(
        post(image_path(ref) + "/tag" + query_string({{"repo", repository}, {"tag", tag}})),
        fmt::format("name image {} {}:{}", ref.str(), repository, tag));
    if (!answer) {
        co_return answer.error();
    }
    co_return ok;
}

} // namespace

class ImageEndpoints : public virtual EngineCalls {
public:
    Task<Result<ImageDetails>> inspect_image(ImageRef ref) override {
        return inspect_image_of(session_, std::move(ref));
    }

    Task<Status> pull_image(ImageRef ref, std::string platform, std::string registry_auth,
                            std::function<void(const PullProgress&)> on_progress) override {
        const auto session = session_;
        const auto what = "pull image " + ref.str();
        if (const auto known = co_await session->negotiate(); !known) { // tells what engine it is
            co_return known.error();
        }
        auto request = post(pull_path(*session, ref, platform));
        if (!registry_auth.empty()) {
            request.headers.emplace_back("X-Registry-Auth", registry_auth);
        }
        auto stream = co_await session->open(std::move(request), what);
        if (!stream) {
            co_return stream.error();
        }
        LineStream messages(std::move(*stream));
        // That call of Podman's says nothing while a layer comes.
        const auto silence = is_podman_on_loopback(*session, ref.str())
                                 ? std::chrono::hours(12)
                                 : session->endpoint.limits.pull_silence;
        while (true) {
            const auto line = co_await with_timeout(
                messages.next(), silence,
                Error{ErrorKind::timeout, "",
                      fmt::format("{}: the engine said nothing for {}", what, format_duration(silence)),
                      "is the registry reachable from that host?"});
            if (!line) {
                co_return session->located(line.error());
            }
            if (!*line) {
                co_return ok;
            }
            const auto progress = decode_pull_message(**line);
            if (!progress) {
                Error error = progress.error();
                error.hint = error.hint.empty() ? engine_hint(error.message) : error.hint;
                error.message = fmt::format("{}: {}", what, error.message);
                co_return session->located(error);
            }
            if (on_progress) {
                on_progress(*progress);
            }
        }
    }

    Task<Result<std::unique_ptr<ByteSource>>> export_image(ImageRef ref) override {
        const auto session = session_;
        auto stream = co_await session->open(get(image_path(ref) + "/get"), "read image " + ref.str());
        if (!stream) {
            co_return stream.error();
        }
        std::unique_ptr<ByteSource> bytes = std::make_unique<StreamedBytes>(session, std::move(*stream));
        co_return bytes;
    }

    Task<Status> import_image(std::string repository, std::string tag, std::span<const char> tar) override {
        const auto session = session_;
        const auto what = "import image " + repository;
        if (const auto known = co_await session->negotiate(); !known) { // tells what engine it is
            co_return known.error();
        }
        // Podman forgets the name (4.3) or its tag (5.4): it gets it afterwards.
        auto request =
            post("/images/create" +
                 (session->podman() ? query_string({{"fromSrc", "-"}})
                                    : query_string({{"fromSrc", "-"}, {"repo", repository}, {"tag", tag}})));
        request.content_type = "application/x-tar";
        request.borrowed_body = tar;
        const auto answer = co_await session->call(std::move(request), what);
        if (!answer) {
            co_return answer.error();
        }
        std::string id;
        for (const auto& line : split(answer->body, '\n')) {
            if (line.find('{') == std::string::npos) {
                continue;
            }
            const auto message = decode_pull_message(line);
            if (!message) {
                auto error = message.error();
                error.hint = engine_hint(error.message);
                error.message = fmt::format("{}: {}", what, error.message);
                co_return session->located(error);
            }
            id = message->layer.empty() ? id : message->layer;
        }
        if (session->podman()) {
            co_return co_await tag_image_of(session, ImageRef(id), repository, tag);
        }
        co_return ok;
    }

    Task<Status> tag_image(ImageRef ref, std::string repository, std::string tag) override {
        return tag_image_of(session_, std::move(ref), std::move(repository), std::move(tag));
    }

    Task<Status> remove_image(ImageRef ref) override {
        const auto session = session_;
        HttpRequest request;
        request.method = "DELETE";
        request.target = image_path(ref);
        const auto answer = co_await session->call(std::move(request), "remove image " + ref.str(), {404});
        if (!answer) {
            co_return answer.error();
        }
        co_return ok;
    }
};

} // namespace dockdist::endpoints
