#include "client/image/pull_image.hpp"

#include "client/image/pull_tracker.hpp"
#include "client/report/step.hpp"

namespace dockdist {

Task<Status> pull_image(ContainerEngine& engine, std::string host, ImageRef image, std::string platform,
                        const RegistryAuth& auth, Reporter& reporter) {
    Step step(reporter, "image", std::move(host), "pull " + image.str());
    PullTracker tracker;
    const auto on_progress = [&](const PullProgress& message) {
        tracker.apply(message);
        step.progress(tracker.text(), tracker.current(), tracker.total());
    };
    const auto pulled = co_await engine.pull_image(image, std::move(platform), auth.header, on_progress);
    if (!pulled) {
        auto error = pulled.error();
        if (const auto hint = refused_login_hint(error.message, auth); !hint.empty()) {
            error.hint = hint;
        }
        step.failed(error.message);
        co_return error;
    }
    step.finished("pulled");
    co_return ok;
}

} // namespace dockdist
