// FakeEngine's calls: each is logged, may be held, failed or lose its answer, and then does what an engine
// does.
#include "fakes/fake_engine_inside.hpp"
#include "fakes/fake_exec.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

class FakeEventStream final : public EventStream {
public:
    explicit FakeEventStream(std::shared_ptr<FakeEngine::Followed> followed)
        : followed_(std::move(followed)) {}
    Task<Result<EngineEvent>> next() override { return next(followed_); }

private:
    static Task<Result<EngineEvent>> next(std::shared_ptr<FakeEngine::Followed> followed) {
        while (followed->events.empty()) {
            co_await followed->changed.wait_for_change();
        }
        EngineEvent event = std::move(followed->events.front());
        followed->events.pop_front();
        co_return event;
    }
    std::shared_ptr<FakeEngine::Followed> followed_;
};

class FakeLogStream final : public LogStream {
public:
    explicit FakeLogStream(std::shared_ptr<FakeEngine::Followed> followed) : followed_(std::move(followed)) {}
    Task<Result<ExecStream::Chunk>> read() override { return read(followed_); }

private:
    static Task<Result<ExecStream::Chunk>> read(std::shared_ptr<FakeEngine::Followed> followed) {
        while (followed->log.empty() && !followed->ended) {
            co_await followed->changed.wait_for_change();
        }
        if (followed->log.empty()) {
            co_return ExecStream::Chunk{StdStream::out, "", true};
        }
        co_return ExecStream::Chunk{StdStream::out, std::exchange(followed->log, {}), false};
    }
    std::shared_ptr<FakeEngine::Followed> followed_;
};

std::string last_lines(const std::string& text, int lines) {
    std::size_t begin = text.size();
    for (int found = 0; begin > 0; --begin) {
        if (text[begin - 1] == '\n' && begin != text.size() && ++found == lines) {
            break;
        }
    }
    return lines == 0 ? std::string() : text.substr(begin);
}

} // namespace

Task<Result<ApiVersion>> FakeEngine::ping() {
    const auto begun = co_await begin("ping");
    CO_TRY(begun);
    co_return engine_info.api;
}

Task<Result<EngineInfo>> FakeEngine::info() {
    const auto begun = co_await begin("info");
    CO_TRY(begun);
    co_return engine_info;
}

Task<Result<std::vector<ContainerSummary>>> FakeEngine::list_containers(ListQuery query) {
    const auto begun = co_await begin("list_containers");
    CO_TRY(begun);
    std::vector<ContainerSummary> result;
    for (const auto& [name, held] : containers) {
        if (has_labels(held.config.labels, query.labels) &&
            (!query.running_only || held.state == ContainerState::running)) {
            const auto image = images.find(held.config.image.str());
            result.push_back({held.id, name, held.config.image, image == images.end() ? "" : image->second.id,
                              held.state, held.config.labels});
        }
    }
    co_return result;
}

Task<Result<ContainerDetails>> FakeEngine::inspect_container(ContainerId id) {
    const auto begun = co_await begin("inspect_container " + name_of(id));
    CO_TRY(begun);
    const auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    const auto image = images.find(found->config.image.str());
    co_return ContainerDetails{found->id,
                               found->name,
                               image == images.end() ? "" : image->second.id,
                               found->state,
                               found->exit_code,
                               found->oom_killed,
                               found->error,
                               "2026-01-01T00:00:00Z",
                               found->config.device_requests,
                               found->config.labels};
}

Task<Result<ContainerId>> FakeEngine::create_container(std::string name, ContainerConfig config) {
    const std::string call = "create_container " + name;
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    if (containers.contains(name)) {
        co_return error(
            ErrorKind::conflict,
            fmt::format("Conflict. The container name \"/{}\" is already in use by container \"{}\"", name,
                        container(name).id.str()));
    }
    const bool by_id =
        std::ranges::any_of(images, [&](const auto& image) { return image.second.id == config.image.str(); });
    if (!by_id && !images.contains(config.image.str())) {
        co_return error(ErrorKind::not_found, "No such image: " + config.image.str());
    }
    for (const auto& mount : config.mounts) {
        if (mount.type == Mount::Type::volume && !volumes.contains(mount.source)) {
            volumes[mount.source] = {mount.source, mount.volume_labels};
        }
    }
    const ContainerId id = add_container(name, std::move(config), ContainerState::created).id;
    if (take_lost(call)) {
        co_return lost();
    }
    co_return id;
}

Task<Status> FakeEngine::start_container(ContainerId id) {
    const std::string call = "start_container " + name_of(id);
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    found->state = ContainerState::running;
    if (const auto attached = attached_.find(found->name); attached != attached_.end()) {
        attached->second->started = true;
        attached->second->input_changed.notify();
    }
    if (take_lost(call)) {
        co_return lost();
    }
    co_return ok;
}

Task<Status> FakeEngine::stop_container(ContainerId id, std::chrono::seconds) {
    const std::string call = "stop_container " + name_of(id);
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    const auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    if (found->state == ContainerState::running) {
        end_container(found->name, 143);
    }
    if (take_lost(call)) {
        co_return lost();
    }
    co_return ok;
}

Task<Status> FakeEngine::remove_container(ContainerId id) {
    const std::string call = "remove_container " + name_of(id);
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    if (const auto* found = find(id)) {
        const std::string name = found->name;
        if (found->state == ContainerState::running) {
            end_container(name, 137);
        }
        containers.erase(name);
    }
    if (take_lost(call)) {
        co_return lost();
    }
    co_return ok;
}

Task<Result<std::unique_ptr<LogStream>>> FakeEngine::container_logs(ContainerId id, LogQuery query) {
    const auto begun = co_await begin("container_logs " + name_of(id));
    CO_TRY(begun);
    const auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    const auto followed = std::make_shared<Followed>(executor_);
    followed->log_of = found->name;
    followed->log = query.tail < 0 ? found->log : last_lines(found->log, query.tail);
    followed->ended = !query.follow || found->state != ContainerState::running;
    followed_.push_back(followed);
    co_return std::make_unique<FakeLogStream>(followed);
}

Task<Result<std::string>> FakeEngine::container_log_tail(ContainerId id, int lines) {
    const auto begun = co_await begin("container_log_tail " + name_of(id));
    CO_TRY(begun);
    const auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    co_return last_lines(found->log, lines);
}

Task<Result<ExecId>> FakeEngine::create_exec(ContainerId id, ExecConfig config) {
    const auto call = fmt::format("create_exec {}: {}", name_of(id), shell_join(config.command));
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    const auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    if (found->state != ContainerState::running) {
        co_return error(ErrorKind::conflict, fmt::format("Container {} is not running", found->id.str()));
    }
    const auto shared = std::make_shared<FakeExec::Shared>(executor_);
    shared->container = found->id;
    shared->container_name = found->name;
    shared->config = std::move(config);
    const ExecId exec(fmt::format("exec-{}", execs_.size() + 1));
    execs_[exec.str()] = shared;
    if (take_lost(call)) {
        co_return lost();
    }
    co_return exec;
}

Task<Result<std::unique_ptr<ExecStream>>> FakeEngine::start_exec(ExecId id) {
    const auto found = execs_.find(id.str());
    const auto shared = found == execs_.end() ? nullptr : found->second;
    const auto command = shared ? shell_join(shared->config.command) : std::string();
    const auto call =
        shared ? fmt::format("start_exec {}: {}", shared->container_name, command) : "start_exec " + id.str();
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    if (!shared) {
        co_return error(ErrorKind::not_found, "No such exec instance: " + id.str());
    }
    for (const auto& [part, script] : scripts_) {
        if (command.find(part) != std::string::npos) {
            auto stream = start_fake_exec(executor_, shared, script);
            if (take_lost(call)) {
                co_return lost();
            }
            co_return stream;
        }
    }
    co_return error(ErrorKind::internal, "the test has no script for the exec: " + command);
}

Task<Result<ExecState>> FakeEngine::inspect_exec(ExecId id) {
    const auto begun = co_await begin("inspect_exec " + id.str());
    CO_TRY(begun);
    const auto found = execs_.find(id.str());
    if (found == execs_.end()) {
        co_return error(ErrorKind::not_found, "No such exec instance: " + id.str());
    }
    co_return found->second->state;
}

Task<Result<ImageDetails>> FakeEngine::inspect_image(ImageRef ref) {
    const auto begun = co_await begin("inspect_image " + ref.str());
    CO_TRY(begun);
    auto found = images.find(ref.str());
    if (found == images.end()) {
        found = std::ranges::find_if(images, [&](const auto& image) { return image.second.id == ref.str(); });
    }
    if (found == images.end()) {
        co_return error(ErrorKind::not_found, "No such image: " + ref.str());
    }
    co_return found->second;
}

Task<Status> FakeEngine::pull_image(ImageRef ref, std::string, std::string auth,
                                    std::function<void(const PullProgress&)> on_progress) {
    registry_auth = std::move(auth);
    const std::string call = "pull_image " + ref.str();
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    const auto found = pulls_.find(ref.str());
    if (found == pulls_.end()) {
        co_return error(ErrorKind::not_found,
                        fmt::format("pull access denied for {}, repository does not exist", ref.str()));
    }
    for (const auto& message : found->second) {
        if (on_progress) {
            on_progress(message);
        }
    }
    add_image(ref.str());
    if (take_lost(call)) {
        co_return lost();
    }
    co_return ok;
}

Task<Result<VolumeDetails>> FakeEngine::inspect_volume(std::string name) {
    const auto begun = co_await begin("inspect_volume " + name);
    CO_TRY(begun);
    const auto found = volumes.find(name);
    if (found == volumes.end()) {
        co_return error(ErrorKind::not_found, "get " + name + ": no such volume");
    }
    co_return found->second;
}

Task<Status> FakeEngine::remove_volume(std::string name) {
    const std::string call = "remove_volume " + name;
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    for (const auto& [container_name, held] : containers) {
        for (const auto& mount : held.config.mounts) {
            if (mount.type == Mount::Type::volume && mount.source == name) {
                co_return error(ErrorKind::conflict,
                                fmt::format("remove {}: volume is in use - [{}]", name, held.id.str()));
            }
        }
    }
    volumes.erase(name);
    if (take_lost(call)) {
        co_return lost();
    }
    co_return ok;
}

Task<Result<std::unique_ptr<EventStream>>> FakeEngine::events(EventFilter filter) {
    const auto begun = co_await begin("events");
    CO_TRY(begun);
    const auto followed = std::make_shared<Followed>(executor_);
    followed->filter = std::move(filter);
    followed_.push_back(followed);
    co_return std::make_unique<FakeEventStream>(followed);
}

} // namespace dockdist
