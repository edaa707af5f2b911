// Images: pulled, told about, taken out and put in. Included by docker_engine.cpp alone.
#pragma once

#include "client/async/with_timeout.hpp"
#include "client/async/with_watch.hpp"
#include "client/container/image_address.hpp"
#include "client/engine/endpoints/requests.hpp"
#include "client/engine/endpoints/streamed_bytes.hpp"
#include "client/engine/endpoints/watch.hpp"
#include "client/engine/engine_calls.hpp"
#include "client/engine/engine_error.hpp"
#include "client/engine/json_decode.hpp"
#include "client/engine/line_stream.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <set>

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

// For calls of other groups too.
Task<Result<ImageDetails>> inspect_image_of(Session session, ImageRef ref) {
    const auto answer = co_await session->call(get(image_path(ref) + "/json"), "look at image " + ref.str());
    CO_TRY(answer);
    co_return decoded(*session, decode_image(answer->body));
}

Task<Status> tag_image_of(Session session, ImageRef ref, std::string repository, std::string tag) {
    const auto answer = co_await session->call(
        post(image_path(ref) + "/tag" + query_string({{"repo", repository}, {"tag", tag}})),
        fmt::format("name image {} {}:{}", ref.str(), repository, tag));
    CO_TRY(answer);
    co_return ok;
}

// Podman forgets the name (4.3) or its tag (5.4): it gets it afterwards.
Task<Result<HttpRequest>> import_request(Session session, std::string source, std::string repository,
                                         std::string tag) {
    if (const auto known = co_await session->negotiate(); !known) { // tells what engine it is
        co_return known.error();
    }
    co_return post("/images/create" +
                   (session->podman()
                        ? query_string({{"fromSrc", source}})
                        : query_string({{"fromSrc", source}, {"repo", repository}, {"tag", tag}})));
}

// `id`: of the image, once a message tells it.
Status take_import_message(const EngineSession& session, const std::string& line, const std::string& what,
                           std::string& id) {
    if (line.find('{') == std::string::npos) {
        return ok;
    }
    const auto message = decode_pull_message(line);
    if (!message) {
        auto error = message.error();
        error.hint = engine_hint(error.message, session.podman());
        error.message = fmt::format("{}: {}", what, error.message);
        return session.located(error);
    }
    id = message->layer.empty() ? id : message->layer;
    return ok;
}

Task<Status> name_imported(Session session, std::string id, std::string repository, std::string tag) {
    if (session->podman()) {
        co_return co_await tag_image_of(session, ImageRef(id), repository, tag);
    }
    co_return ok;
}

// Whether all layers that were told of have come: the engine extracts them then, and some say nothing of
// that.
class Arrivals {
public:
    void take(const PullProgress& message) {
        const auto& status = message.status;
        if (status == "Download complete" || status == "Pull complete" || status == "Already exists") {
            some_ = true;
            coming_.erase(message.layer);
        } else if (status == "Pulling fs layer" || status == "Waiting" || status == "Downloading") {
            coming_.insert(message.layer);
        }
    }
    bool all() const { return some_ && coming_.empty(); }

private:
    std::set<std::string> coming_{};
    bool some_ = false;
};

Task<Status> run_pull(Session session, ImageRef ref, std::string path, std::string registry_auth,
                      std::function<void(const PullProgress&)> on_progress,
                      std::shared_ptr<std::uint64_t> heard) {
    const auto what = "pull image " + ref.str();
    auto request = post(std::move(path));
    if (!registry_auth.empty()) {
        request.headers.emplace_back("X-Registry-Auth", registry_auth);
    }
    auto stream = co_await session->open(std::move(request), what);
    CO_TRY(stream);
    LineStream messages(std::move(*stream));
    Arrivals arrivals;
    while (true) {
        // That call of Podman's says nothing while a layer comes.
        const auto silence = is_podman_on_loopback(*session, ref.str()) || arrivals.all()
                                 ? std::chrono::hours(12)
                                 : session->endpoint.limits.pull_silence;
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
        ++*heard;
        const auto progress = decode_pull_message(**line);
        if (!progress) {
            Error error = progress.error();
            error.hint = error.hint.empty() ? engine_hint(error.message, session->podman()) : error.hint;
            error.message = fmt::format("{}: {}", what, error.message);
            co_return session->located(error);
        }
        arrivals.take(*progress);
        if (on_progress) {
            on_progress(*progress);
        }
    }
}

Task<Status> run_load(Session session, std::shared_ptr<ByteSource> tar, std::uint64_t size,
                      std::function<void(std::uint64_t)> on_sent, std::shared_ptr<std::uint64_t> heard) {
    const std::string what = "load an image";
    auto request = post("/images/load?quiet=1");
    request.content_type = "application/x-tar";
    request.streamed_body = std::move(tar);
    request.streamed_size = size;
    auto stream = co_await session->open_upload(std::move(request), what, [&](std::uint64_t sent) {
        ++*heard;
        if (on_sent) {
            on_sent(sent);
        }
    });
    CO_TRY(stream);
    LineStream messages(std::move(*stream));
    bool loaded = false;
    while (true) {
        const auto line = co_await messages.next();
        if (!line) {
            co_return session->located(line.error());
        }
        if (!*line) {
            break;
        }
        ++*heard;
        const auto message = decode_pull_message(**line);
        if (!message) {
            auto error = message.error();
            error.hint = engine_hint(error.message, session->podman());
            error.message = fmt::format("{}: {}", what, error.message);
            co_return session->located(error);
        }
        loaded = true;
    }
    co_return loaded ? Status(ok)
                     : session->located({ErrorKind::protocol, "", what + ": it ended without an image",
                                         "the engine may have been restarted: run the command again"});
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
        if (auto from = address_in(ref)) {
            co_return co_await import_from(session, std::move(*from));
        }
        const auto what = "pull image " + ref.str();
        if (const auto known = co_await session->negotiate(); !known) { // tells what engine it is
            co_return known.error();
        }
        const auto heard = std::make_shared<std::uint64_t>(0);
        co_return co_await with_watch(run_pull(session, ref, pull_path(*session, ref, platform),
                                               std::move(registry_auth), std::move(on_progress), heard),
                                      watch_engine(session, what, heard));
    }

    Task<Result<std::unique_ptr<ByteSource>>> export_image(ImageRef ref) override {
        const auto session = session_;
        auto stream = co_await session->open(get(image_path(ref) + "/get"), "read image " + ref.str());
        CO_TRY(stream);
        co_return bytes_of(session, std::move(*stream));
    }

    Task<Status> load_image(std::unique_ptr<ByteSource> tar, std::uint64_t size,
                            std::function<void(std::uint64_t)> on_sent) override {
        const auto session = session_;
        const auto heard = std::make_shared<std::uint64_t>(0);
        co_return co_await with_watch(run_load(session, std::move(tar), size, std::move(on_sent), heard),
                                      watch_engine(session, "load an image", heard));
    }

    Task<Status> import_image(std::string repository, std::string tag, std::span<const char> tar) override {
        const auto session = session_;
        const auto what = "import image " + repository;
        auto request = co_await import_request(session, "-", repository, tag);
        CO_TRY(request);
        request->content_type = "application/octet-stream"; // as Docker's description of its API has it
        request->borrowed_body = tar;
        const auto answer = co_await session->call(std::move(*request), what);
        CO_TRY(answer);
        std::string id;
        for (const auto& line : split(answer->body, '\n')) {
            if (auto taken = take_import_message(*session, line, what, id); !taken) {
                co_return taken;
            }
        }
        co_return co_await name_imported(session, id, repository, tag);
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
        CO_TRY(answer);
        co_return ok;
    }

private:
    static Task<Status> import_from(Session session, ImageAddress from) {
        const auto what = "import image " + from.repository;
        auto request = co_await import_request(session, from.url, from.repository, from.tag);
        CO_TRY(request);
        // Podman answers when it has it all: there is no deadline for a first word.
        auto stream = co_await session->open_upload(std::move(*request), what, {});
        CO_TRY(stream);
        LineStream messages(std::move(*stream));
        std::string id;
        while (true) {
            const auto line = co_await messages.next();
            if (!line) {
                co_return session->located(line.error());
            }
            if (!*line) {
                co_return co_await name_imported(session, id, from.repository, from.tag);
            }
            if (auto taken = take_import_message(*session, **line, what, id); !taken) {
                co_return taken;
            }
        }
    }
};

} // namespace dockdist::endpoints
