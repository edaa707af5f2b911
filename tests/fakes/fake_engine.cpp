#include "fakes/fake_engine.hpp"

#include "fakes/fake_engine_inside.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {

namespace {

bool is_one_of(const std::vector<std::string>& allowed, const std::string& word) {
    return allowed.empty() || std::ranges::find(allowed, word) != allowed.end();
}

} // namespace

bool has_labels(const Labels& labels, const std::vector<std::string>& wanted) {
    return std::ranges::all_of(wanted, [&](const std::string& filter) {
        const auto equals = filter.find('=');
        const auto found = labels.find(filter.substr(0, equals));
        return found != labels.end() &&
               (equals == std::string::npos || found->second == filter.substr(equals + 1));
    });
}

FakeEngine::FakeEngine(const boost::asio::any_io_executor& executor, std::string host)
    : executor_(executor), host_(std::move(host)) {
    address_ = {EngineAddress::Scheme::tcp,      "", "127.0.0.1", Port{2375}, "",
                "tcp://" + host_.str() + ":2375"};
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

FakeEngine::Container& FakeEngine::add_container(const std::string& name, ContainerConfig config,
                                                 ContainerState state) {
    Container& made = containers[name];
    made.id = ContainerId(fmt::format("{:016x}{:048x}", std::hash<std::string>{}(host_.str()), ++created_));
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
    static constexpr std::array<std::string_view, 11> reads{"ping",
                                                            "info",
                                                            "list_containers",
                                                            "inspect_container",
                                                            "container_logs",
                                                            "container_log_tail",
                                                            "inspect_exec",
                                                            "inspect_image",
                                                            "inspect_volume",
                                                            "list_volumes",
                                                            "events"};
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
            is_one_of(followed->filter.actions, event.action) &&
            has_labels(event.attributes, followed->filter.labels)) {
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
    const auto found =
        std::ranges::find_if(lost_, [&](const std::string& begin) { return call.starts_with(begin); });
    if (found == lost_.end()) {
        return false;
    }
    lost_.erase(found);
    return true;
}

Error FakeEngine::lost() const {
    return error(ErrorKind::unreachable, "the connection closed before the engine answered");
}

Task<Status> FakeEngine::rename_container(ContainerId id, std::string name) {
    const std::string call = "rename_container " + name_of(id) + " " + name;
    const auto begun = co_await begin(call);
    CO_TRY(begun);
    const auto* found = find(id);
    if (found == nullptr) {
        co_return error(ErrorKind::not_found, "No such container: " + id.str());
    }
    if (containers.contains(name)) {
        co_return error(ErrorKind::conflict,
                        "Conflict. The container name \"/" + name + "\" is already in use");
    }
    auto entry = containers.extract(found->name);
    entry.key() = name;
    entry.mapped().name = name;
    containers.insert(std::move(entry));
    if (take_lost(call)) {
        co_return lost();
    }
    co_return ok;
}

} // namespace dockdist
