#include "async/with_timeout.hpp"
#include "core/units.hpp"
#include "engine/endpoints/endpoints.hpp"
#include "engine/endpoints/requests.hpp"
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

} // namespace

Task<Result<ImageDetails>> inspect_image(Session session, ImageRef ref) {
    const auto target =
        "/images/" + (ref.empty() ? std::string("-") : percent_encode(ref.str(), "/:@")) + "/json";
    const auto answer = co_await session->call(get(target), "look at image " + ref.str());
    if (!answer) {
        co_return answer.error();
    }
    co_return decoded(*session, decode_image(answer->body));
}

Task<Status> pull_image(Session session, ImageRef ref, std::string platform, std::string registry_auth,
                        std::function<void(const PullProgress&)> on_progress) {
    const auto what = "pull image " + ref.str();
    const auto [repository, tag] = split_reference(ref.str());
    auto request = post("/images/create" +
                        query_string({{"fromImage", repository}, {"tag", tag}, {"platform", platform}}));
    if (!registry_auth.empty()) {
        request.headers.emplace_back("X-Registry-Auth", registry_auth);
    }
    auto stream = co_await session->open(std::move(request), what);
    if (!stream) {
        co_return stream.error();
    }
    LineStream messages(std::move(*stream));
    const auto silence = session->endpoint.limits.pull_silence;
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

} // namespace dockdist::endpoints
