#include "fakes/fake_engine.hpp"

#include "core/text.hpp"
#include "fakes/fake_exec.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>

namespace dockdist {

// What a follower of events or of a log waits for.
struct FakeEngine::Followed {
    explicit Followed(const boost::asio::any_io_executor& executor) : changed(executor) {}
    AsyncEvent changed;
    EventFilter filter{};
    std::deque<EngineEvent> events{};
    std::string log_of{}; // a container's name
    std::string log{};
    bool ended = false;
};

namespace {

class FakeEventStream final : public EventStream {
public:
    explicit FakeEventStream(std::shared_ptr<FakeEngine::Followed> followed) : followed_(std::move(followed)) {}
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

bool has_labels(const Labels& labels, const std::vector<std::string>& wanted) {
    return std::ranges::all_of(wanted, [&](const std::string& filter) {
        const auto equals = filter.find('=');
        const auto found = labels.find(filter.substr(0, equals));
        return found != labels.end() && (equals == std::string::npos || found->second == filter.substr(equals + 1));
    });
}

bool is_one_of(const std::vector<std::string>& allowed, const std::string& word) {
    return allowed.empty() || std::ranges::find(allowed, word) != allowed.end();
}

} // namespace

FakeEngine::FakeEngine(const boost::asio::any_io_executor& executor, std::string host) : executor_(executor), host_(std::move(host)) {
    address_ = {EngineAddress::Scheme::tcp, "", "127.0.0.1", Port{2375}, "", "tcp://127.0.0.1:2375"};
    engine_info.api = {1, 45};
    engine_info.version = "26.1.5";
    engine_info.name = host_.str();
    engine_info.operating_system = "Debian GNU/Linux 13 (trixie)";
    engine_info.kernel = "6.12.0";
    engine_info.architecture = "x86_64";
    engine_info.os_type = "linux";
    engine_info.runtimes = {"io.containerd.runc.v2", "runc"};
    engine_info.cpus = 8;
    engine_info.memory = Bytes{64ULL << 30U};
}

FakeEngine::~FakeEngine() = default;

void FakeEngine::add_image(const std::string& reference, std::string id) {
    ImageDetails image;
    image.id = id.empty() ? "sha256:" + reference : std::move(id);
    image.repo_tags = {reference};
    image.layers = {"sha256:layer-of-" + reference};
    image.architecture = "amd64";
    image.os = "linux";
    image.size = Bytes{100ULL << 20U};
    images[reference] = image;
}

FakeEngine::Container& FakeEngine::add_container(const std::string& name, ContainerConfig config, ContainerState state) {
    Container& made = containers[name];
    made.id = ContainerId(fmt::format("{:0>64x}", ++created_));
    made.name = name;
    made.config = std::move(config);
    made.state = state;
    return made;
}

FakeEngine::Container& FakeEngine::container(const std::string& name) {
    return containers.at(name);
}

FakeEngine::Container* FakeEngine::find(const ContainerId& id) {
    for (auto& [name, candidate] : containers) {
        if (candidate.id == id || name == id.str()) {
            return &candidate;
        }
    }
    return nullptr;
}

std::string FakeEngine::name_of(const ContainerId& id) {
    const auto* found = find(id);
    return found == nullptr ? id.str() : found->name;
}

Error FakeEngine::error(ErrorKind kind, std::string message, std::string hint) const {
    return {kind, host_.str(), std::move(message), std::move(hint)};
}

std::vector<std::string> FakeEngine::writing_calls() const {
    static constexpr std::array<std::string_view, 10> reads{"ping",          "info",           "list_containers", "inspect_container",
                                                            "container_logs", "container_log_tail", "inspect_exec", "inspect_image",
                                                            "inspect_volume", "events"};
    std::vector<std::string> result;
    for (const auto& call : calls) {
        if (std::ranges::find(reads, std::string_view(call).substr(0, call.find(' '))) == reads.end()) {
            result.push_back(call);
        }
    }
    return result;
}

// --- scripts ---

void FakeEngine::fail(std::string call, Error with, int times) {
    if (with.where.empty()) {
        with.where = host_.str();
    }
    failures_.push_back({std::move(call), std::move(with), times});
}

void FakeEngine::lose_answer(std::string call) {
    lost_.push_back(std::move(call));
}

void FakeEngine::hold(std::string call) {
    held_[std::move(call)] = std::make_shared<AsyncEvent>(executor_);
}

void FakeEngine::release(const std::string& call) {
    held_.at(call)->set();
    held_.erase(call);
}

void FakeEngine::on_exec(std::string command, ExecScript script) {
    scripts_.insert(scripts_.begin(), {std::move(command), std::move(script)});
}

void FakeEngine::on_exec(std::string command, std::string out, int exit_code, std::string err) {
    on_exec(std::move(command), [out, exit_code, err](FakeExec exec) -> Task<int> {
        // Parameters, not captures, are what the coroutine's frame keeps.
        return [](FakeExec inside, std::string text, int code, std::string problem) -> Task<int> {
            if (!text.empty()) {
                inside.out(text);
            }
            if (!problem.empty()) {
                inside.err(problem);
            }
            co_return code;
        }(exec, out, exit_code, err);
    });
}

void FakeEngine::on_pull(const std::string& reference, std::vector<PullProgress> messages) {
    pulls_[reference] = std::move(messages);
}

void FakeEngine::append_log(const std::string& name, const std::string& text) {
    container(name).log += text;
    for (const auto& weak : followed_) {
        if (const auto followed = weak.lock(); followed && followed->log_of == name) {
            followed->log += text;
            followed->changed.notify();
        }
    }
}

void FakeEngine::end_container(const std::string& name, int exit_code, bool oom) {
    Container& ended = container(name);
    ended.state = ContainerState::exited;
    ended.exit_code = exit_code;
    ended.oom_killed = oom;
    for (const auto& weak : followed_) {
        if (const auto followed = weak.lock(); followed && followed->log_of == name) {
            followed->ended = true;
            followed->changed.notify();
        }
    }
    EngineEvent event{"container", "die", ended.id.str(), ended.config.labels, 0};
    event.attributes["name"] = name;
    event.attributes["exitCode"] = std::to_string(exit_code);
    emit(event);
}

void FakeEngine::emit(EngineEvent event) {
    for (const auto& weak : followed_) {
        const auto followed = weak.lock();
        if (followed && followed->log_of.empty() && is_one_of(followed->filter.types, event.type) &&
            is_one_of(followed->filter.actions, event.action) && has_labels(event.attributes, followed->filter.labels)) {
            followed->events.push_back(event);
            followed->changed.notify();
        }
    }
}

Task<Status> FakeEngine::begin(std::string call) {
    calls.push_back(call);
    if (common_log != nullptr) {
        common_log->push_back(host_.str() + ": " + call);
    }
    if (on_call) {
        on_call(call);
    }
    co_await boost::asio::post(boost::asio::use_awaitable); // as on a real engine, nothing is done at once
    for (const auto& [held, event] : held_) {
        if (call.starts_with(held)) {
            const auto waiting = event;
            co_await waiting->wait();
            break;
        }
    }
    for (auto failure = failures_.begin(); failure != failures_.end(); ++failure) {
        if (call.starts_with(failure->call)) {
            const Error with = failure->error;
            if (failure->times > 0 && --failure->times == 0) {
                failures_.erase(failure);
            }
            co_return with;
        }
    }
    co_return ok;
}

bool FakeEngine::take_lost(const std::string& call) {
    const auto found = std::ranges::find_if(lost_, [&](const std::string& begin) { return call.starts_with(begin); });
    if (found == lost_.end()) {
        return false;
    }
    lost_.erase(found);
    return true;
}

Error FakeEngine::lost() const {
    return error(ErrorKind::unreachable, "the connection closed before the engine answered");
}

// --- ContainerEngine ---

Task<Result<ApiVersion>> FakeEngine::ping() {
    const auto begun = co_await begin("ping");
    if (!begun) {
        co_return begun.error();
    }
    co_return engine_info.api;
}

Task<Result<EngineInfo>> FakeEngine::info() {
    const auto begun = co_await begin("info");
    if (!begun) {
        co_return begun.error();
    }
    co_return engine_info;
}

Task<Result<std::vector<ContainerSummary>>> FakeEngine::list_containers(ListQuery query) {
    const auto begun = co_await begin("list_containers");
    if (!begun) {
        co_return begun.error();
    }
    std::vector<ContainerSummary> result;
    for (const auto& [name, held] : containers) {
        if (has_labels(held.config.labels, query.labels) && (!query.running_only || held.state == ContainerState::running)) {
            const auto image = images.find(held.config.image.str());
            result.push_back({held.id, name, held.config.image, image == images.end() ? "" : image->second.id, held.state,
                              held.config.labels});
        }
    }
    co_return result;
}

Task<Result<ContainerDetails>> FakeEngine::inspect_container(ContainerId id) {
    const auto begun = co_await begin("inspect_container " + name_of(id));
    if (!begun) {
        co_return begun.error();
    }
    const auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    const auto image = images.find(found->config.image.str());
    co_return ContainerDetails{found->id,         found->name,      image == images.end() ? "" : image->second.id,
                               found->state,      found->exit_code, found->oom_killed,
                               found->error,      "2026-01-01T00:00:00Z", found->config.labels};
}

Task<Result<ContainerId>> FakeEngine::create_container(std::string name, ContainerConfig config) {
    const std::string call = "create_container " + name;
    const auto begun = co_await begin(call);
    if (!begun) {
        co_return begun.error();
    }
    if (containers.contains(name)) {
        co_return error(ErrorKind::conflict, fmt::format("Conflict. The container name \"/{}\" is already in use by container \"{}\"",
                                                         name, container(name).id.str()));
    }
    if (!images.contains(config.image.str())) {
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
    if (!begun) {
        co_return begun.error();
    }
    auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    found->state = ContainerState::running;
    if (take_lost(call)) {
        co_return lost();
    }
    co_return ok;
}

Task<Status> FakeEngine::stop_container(ContainerId id, std::chrono::seconds) {
    const std::string call = "stop_container " + name_of(id);
    const auto begun = co_await begin(call);
    if (!begun) {
        co_return begun.error();
    }
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
    if (!begun) {
        co_return begun.error();
    }
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
    if (!begun) {
        co_return begun.error();
    }
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
    if (!begun) {
        co_return begun.error();
    }
    const auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    co_return last_lines(found->log, lines);
}

Task<Status> FakeEngine::put_archive(ContainerId id, std::string path, std::span<const char> tar) {
    const std::string call = fmt::format("put_archive {} {}", name_of(id), path);
    const auto begun = co_await begin(call);
    if (!begun) {
        co_return begun.error();
    }
    auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    found->uploads.push_back({path, std::string(tar.data(), tar.size())});
    if (take_lost(call)) {
        co_return lost();
    }
    co_return ok;
}

Task<Result<ExecId>> FakeEngine::create_exec(ContainerId id, ExecConfig config) {
    const auto begun = co_await begin(fmt::format("create_exec {}: {}", name_of(id), shell_join(config.command)));
    if (!begun) {
        co_return begun.error();
    }
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
    co_return exec;
}

Task<Result<std::unique_ptr<ExecStream>>> FakeEngine::start_exec(ExecId id, bool tty) {
    const auto found = execs_.find(id.str());
    const auto shared = found == execs_.end() ? nullptr : found->second;
    const auto command = shared ? shell_join(shared->config.command) : std::string();
    const auto begun = co_await begin(shared ? fmt::format("start_exec {}: {}", shared->container_name, command) : "start_exec " + id.str());
    if (!begun) {
        co_return begun.error();
    }
    if (!shared) {
        co_return error(ErrorKind::not_found, "No such exec instance: " + id.str());
    }
    if (tty != shared->config.tty) {
        co_return error(ErrorKind::internal, "start_exec was given another tty than create_exec");
    }
    for (const auto& [part, script] : scripts_) {
        if (command.find(part) != std::string::npos) {
            co_return start_fake_exec(executor_, shared, script);
        }
    }
    co_return error(ErrorKind::internal, "the test has no script for the exec: " + command);
}

Task<Result<ExecState>> FakeEngine::inspect_exec(ExecId id) {
    const auto begun = co_await begin("inspect_exec " + id.str());
    if (!begun) {
        co_return begun.error();
    }
    const auto found = execs_.find(id.str());
    if (found == execs_.end()) {
        co_return error(ErrorKind::not_found, "No such exec instance: " + id.str());
    }
    co_return found->second->state;
}

Task<Status> FakeEngine::resize_exec(ExecId id, int rows, int columns) {
    co_return co_await begin(fmt::format("resize_exec {} {}x{}", id.str(), columns, rows));
}

Task<Result<ImageDetails>> FakeEngine::inspect_image(ImageRef ref) {
    const auto begun = co_await begin("inspect_image " + ref.str());
    if (!begun) {
        co_return begun.error();
    }
    const auto found = images.find(ref.str());
    if (found == images.end()) {
        co_return error(ErrorKind::not_found, "No such image: " + ref.str());
    }
    co_return found->second;
}

Task<Status> FakeEngine::pull_image(ImageRef ref, std::string, std::string, std::function<void(const PullProgress&)> on_progress) {
    const std::string call = "pull_image " + ref.str();
    const auto begun = co_await begin(call);
    if (!begun) {
        co_return begun.error();
    }
    const auto found = pulls_.find(ref.str());
    if (found == pulls_.end()) {
        co_return error(ErrorKind::not_found, fmt::format("pull access denied for {}, repository does not exist", ref.str()));
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
    if (!begun) {
        co_return begun.error();
    }
    const auto found = volumes.find(name);
    if (found == volumes.end()) {
        co_return error(ErrorKind::not_found, "get " + name + ": no such volume");
    }
    co_return found->second;
}

Task<Status> FakeEngine::remove_volume(std::string name) {
    const std::string call = "remove_volume " + name;
    const auto begun = co_await begin(call);
    if (!begun) {
        co_return begun.error();
    }
    for (const auto& [container_name, held] : containers) {
        for (const auto& mount : held.config.mounts) {
            if (mount.type == Mount::Type::volume && mount.source == name) {
                co_return error(ErrorKind::conflict, fmt::format("remove {}: volume is in use - [{}]", name, held.id.str()));
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
    if (!begun) {
        co_return begun.error();
    }
    const auto followed = std::make_shared<Followed>(executor_);
    followed->filter = std::move(filter);
    followed_.push_back(followed);
    co_return std::make_unique<FakeEventStream>(followed);
}

} // namespace dockdist
