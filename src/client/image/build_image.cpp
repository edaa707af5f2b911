#include "client/image/build_image.hpp"

#include "client/async/run_aside.hpp"
#include "client/image/build_context.hpp"
#include "client/image/build_folder.hpp"
#include "client/image/pull_tracker.hpp"
#include "client/image/registry_name.hpp"
#include "client/report/step.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/random.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/this_coro.hpp>
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

std::string_view name_of(Builder builder) {
    switch (builder) {
    case Builder::classic:
        return "Docker's classic builder";
    case Builder::buildah:
        return "Buildah";
    case Builder::buildkit:
        break;
    }
    return "BuildKit";
}

// What the builder is to have of the secrets: by their names, or from the tar.
struct Secrets {
    std::vector<BuildSecret> named{};
    std::vector<std::pair<std::string, std::string>> in_tar{};
};

Secrets secrets_for(Builder builder, const std::vector<SecretSpec>& given) {
    Secrets secrets;
    for (const auto& secret : given) {
        if (builder == Builder::buildah) {
            secrets.in_tar.emplace_back(".dockdist-secret-" + random_hex(32), secret.value);
            secrets.named.push_back({.id = secret.name, .file = secrets.in_tar.back().first});
        } else {
            secrets.named.push_back({.id = secret.name, .value = secret.value});
        }
    }
    return secrets;
}

// A login that cannot be found is told: what the registry refuses then says nothing of a helper.
auto login_finder(boost::asio::any_io_executor executor, AuthSurroundings surroundings, std::string host,
                  Reporter& reporter) {
    return [executor, surroundings = std::move(surroundings), host = std::move(host),
            &reporter](std::string registry) -> Task<std::optional<BuildLogin>> {
        return [](boost::asio::any_io_executor where, AuthSurroundings around, std::string subject,
                  Reporter& told, std::string wanted) -> Task<std::optional<BuildLogin>> {
            const auto found =
                co_await find_registry_login(where, registry_of_key(wanted), std::move(around));
            if (!found) {
                told.on({.kind = Event::Kind::note,
                         .phase = "image",
                         .subject = subject,
                         .text = fmt::format("no login for {}: {}: {}", printable(wanted),
                                             found.error().where, found.error().message)});
            }
            if (!found || !found->login) {
                co_return std::nullopt;
            }
            const auto& login = *found->login;
            if (login.user.empty() && login.password.empty() && login.identity_token.empty()) {
                told.on({.kind = Event::Kind::note,
                         .phase = "image",
                         .subject = subject,
                         .text = fmt::format(
                             "no login for {}: {} holds a `registrytoken` for it alone, which "
                             "BuildKit cannot be given: `docker login {}`",
                             printable(wanted), found->source, registry_of_key(printable(wanted)))});
                co_return std::nullopt;
            }
            co_return login.identity_token.empty() ? BuildLogin{login.user, login.password}
                                                   : BuildLogin{"", login.identity_token};
        }(executor, surroundings, host, reporter, std::move(registry));
    };
}

Task<Status> build_with(Builder builder, ContainerEngine& engine, const std::string& host, ImageSpec image,
                        AuthSurroundings surroundings, Step& step, Reporter& reporter) {
    const auto executor = co_await boost::asio::this_coro::executor;
    auto secrets = secrets_for(builder, image.build->secrets);
    BuildConfig config{.reference = image.ref,
                       .args = image.build->args,
                       .platform = image.platform,
                       .target = image.build->target,
                       .secrets = std::move(secrets.named)};
    BuildContext context; // for those who take a tar
    if (builder == Builder::buildkit) {
        step.progress("read the folder", std::nullopt, std::nullopt);
        auto folders = co_await run_aside<Result<BuildFolders>>(
            [folder = image.build->context, file = image.build->dockerfile](const std::atomic<bool>& stop) {
                return read_build_folder(folder, file, stop);
            });
        CO_TRY(folders);
        config.folders = std::move(folders->folders);
        config.folder_key = std::move(folders->key);
        config.dockerfile = std::move(folders->dockerfile);
        config.login = login_finder(executor, std::move(surroundings), host, reporter);
    } else {
        auto logins = co_await find_all_registry_auth(executor, std::move(surroundings));
        CO_TRY(logins);
        config.registry_config = std::move(*logins);
        auto packed = co_await BuildContext::pack_aside(
            image.build->context, image.build->dockerfile,
            [&step](PackedSize size) {
                step.progress(fmt::format("pack {}", counted(size.files, "file")), size.bytes, std::nullopt);
            },
            std::move(secrets.in_tar));
        CO_TRY(packed);
        context = std::move(*packed);
        config.dockerfile = context.dockerfile();
    }
    BuildLog log;
    PullTracker base;
    const auto built = co_await engine.build_image(config, context.tar(), [&](const BuildOutput& output) {
        if (output.sent > 0) {
            context.let_go(output.sent);
            step.progress("send the folder", output.sent,
                          context.tar().empty() ? std::nullopt
                                                : std::optional<std::uint64_t>(context.tar().size()));
        } else if (!output.step.empty()) {
            step.progress(printable(output.step), std::nullopt, std::nullopt);
        } else if (!output.text.empty()) {
            log.add(output.text);
            if (!log.step().empty()) { // BuildKit's come by themselves
                step.progress(log.step(), std::nullopt, std::nullopt);
            }
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
        co_return built.error();
    }
    step.finished(fmt::format("built with {}", name_of(builder)));
    co_return ok;
}

// An engine may turn out to have another builder than it has told of: what stands before it lets no session
// pass.
Task<Status> build_in_step(ContainerEngine& engine, const std::string& host, ImageSpec image,
                           AuthSurroundings surroundings, Step& step, Reporter& reporter) {
    const bool secrets = !image.build->secrets.empty();
    const auto builder = co_await engine.builder(secrets);
    CO_TRY(builder);
    auto built = co_await build_with(*builder, engine, host, image, surroundings, step, reporter);
    if (built || *builder != Builder::buildkit) {
        co_return built;
    }
    const auto other = co_await engine.builder(secrets);
    if (!other || *other == *builder) {
        co_return built;
    }
    reporter.on(warning_event(
        {.where = host,
         .message = fmt::format("{}; {} builds it instead, which supports neither RUN --mount nor heredocs",
                                built.error().message, name_of(*other)),
         .hint = built.error().hint}));
    co_return co_await build_with(*other, engine, host, std::move(image), std::move(surroundings), step,
                                  reporter);
}

} // namespace

Task<Status> build_image(ContainerEngine& engine, std::string host, ImageSpec image,
                         AuthSurroundings surroundings, Reporter& reporter) {
    Step step(reporter, "image", host, "build " + image.ref.str());
    // What the file says of them wins; no builder counts them among what a step depends on.
    const auto proxies = proxies_for(read_docker_config(surroundings), engine.address().url);
    image.build->args.insert(proxies.begin(), proxies.end());
    auto built =
        co_await build_in_step(engine, host, std::move(image), std::move(surroundings), step, reporter);
    if (!built) {
        step.failed(built.error().message);
    }
    co_return built;
}

} // namespace dockdist
