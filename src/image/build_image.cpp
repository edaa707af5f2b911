#include "image/build_image.hpp"

#include "core/text.hpp"
#include "image/build_context.hpp"
#include "image/pull_tracker.hpp"
#include "report/step.hpp"

#include <fmt/format.h>

#include <deque>
#include <utility>

namespace dockdist {
namespace {

// What a build writes, line by line: the last ones, and the step that it is at.
class BuildLog {
public:
    void add(std::string_view text) {
        for (const char c : text) {
            if (c == '\n' || c == '\r') {
                end_line();
            } else if (line_.size() < longest) {
                line_ += c;
            }
        }
    }
    void end_line() {
        const auto line = printable(without_colours(std::exchange(line_, {})));
        if (line.find_first_not_of(' ') == std::string::npos) {
            return;
        }
        if (line.starts_with("Step ") || line.starts_with("STEP ")) { // Docker's, Podman's
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

    // The builder writes what a step says on stderr in red: "\x1b[91m…\x1b[0m".
    static std::string without_colours(std::string line) {
        for (auto at = line.find("\x1b["); at != std::string::npos; at = line.find("\x1b[", at)) {
            const auto end = line.find_first_not_of("0123456789;", at + 2);
            line.erase(at, end == std::string::npos ? std::string::npos : end + 1 - at);
        }
        return line;
    }

    std::string line_{}, step_{};
    std::deque<std::string> last_{};
};

} // namespace

Task<Status> build_image(ContainerEngine& engine, std::string host, ImageSpec image,
                         std::string registry_config, Reporter& reporter) {
    Step step(reporter, "image", host, "build " + image.ref.str());
    auto context = co_await BuildContext::pack_aside(
        image.build->context, image.build->dockerfile, [&step](PackedSize size) {
            step.progress(fmt::format("pack {} file{}", size.files, size.files == 1 ? "" : "s"), size.bytes,
                          std::nullopt);
        });
    if (!context) {
        step.failed(context.error().message);
        co_return context.error();
    }
    BuildLog log;
    PullTracker base;
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
