#include "image/build_image.hpp"

#include "async/on_thread.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "image/build_context.hpp"
#include "image/pull_course.hpp"
#include "report/step.hpp"

#include <fmt/format.h>

#include <deque>
#include <mutex>

namespace dockdist {
namespace {

// What a build writes, line by line: the last ones, and the step that it is at.
class BuildLog {
public:
    void add(std::string_view text) {
        for (const char c : text) {
            if (c != '\n' && c != '\r') {
                line_ += c;
                continue;
            }
            end_line();
        }
    }
    void end_line() {
        const auto line = printable(line_.substr(0, longest));
        line_.clear();
        if (line.find_first_not_of(' ') == std::string::npos) {
            return;
        }
        if (line.starts_with("Step ")) {
            step_ = line;
        }
        last_.push_back(line);
        if (last_.size() > kept) {
            last_.pop_front();
        }
    }
    const std::string& step() const { return step_; } // "Step 2/3 : RUN make"
    const std::deque<std::string>& last() const { return last_; }

private:
    static constexpr std::size_t kept = 20, longest = 400;
    std::string line_{}, step_{};
    std::deque<std::string> last_{};
};

Task<Result<BuildContext>> pack(BuildSpec build) {
    co_return co_await on_thread<Result<BuildContext>>([build](const std::atomic<bool>& stop) {
        return BuildContext::pack(build.context, build.dockerfile, [&](PackedSize) { return !stop; });
    });
}

} // namespace

Task<Status> build_image(ContainerEngine& engine, std::string host, ImageSpec image,
                         std::string registry_config, Reporter& reporter) {
    Step step(reporter, "image", host, "build " + image.ref.str());
    auto context = co_await pack(*image.build);
    if (!context) {
        step.failed(context.error().message);
        co_return context.error();
    }
    BuildLog log;
    PullCourse base;
    const BuildConfig config{.reference = image.ref,
                             .dockerfile = context->dockerfile(),
                             .args = image.build->args,
                             .platform = image.platform,
                             .target = image.build->target,
                             .registry_config = std::move(registry_config)};
    const auto built = co_await engine.build_image(config, context->tar(), [&](const BuildOutput& output) {
        if (output.sent > 0) {
            context->let_go(output.sent);
            step.progress("send the folder", output.sent, context->tar().size());
        } else if (!output.text.empty()) {
            log.add(output.text);
            step.progress(log.step(), std::nullopt, std::nullopt);
        } else {
            base.apply(output.pull);
            step.progress(base.text(), base.current(), base.total());
        }
    });
    if (!built) {
        log.end_line();
        for (const auto& line : log.last()) {
            reporter.on({.kind = Event::Kind::note, .phase = "image", .subject = host, .text = line});
        }
        step.failed(built.error().message);
        co_return built.error();
    }
    step.finished("built");
    co_return ok;
}

} // namespace dockdist
