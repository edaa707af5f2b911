#include "scale/stub_engines/container_process.hpp"

#include "scale/stub_engines/pipes.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace dockdist::scale {
namespace {

using boost::asio::posix::stream_descriptor;
using nlohmann::json;
using ContainerPointer = std::shared_ptr<Container>;

constexpr std::size_t most_lines = 1000; // of a container's log

Command command_of(const Container& container) {
    const auto& config = container.config;
    const auto& defaults = container.image->config;
    const auto words = [&](const char* name) {
        const auto& from = config.contains(name) && !config[name].is_null() ? config : defaults;
        return from.value(name, json()).is_array() ? from[name].get<std::vector<std::string>>()
                                                   : std::vector<std::string>();
    };
    Command command{.words = words("Entrypoint"),
                    .environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                    "HOSTNAME=" + config.value("Hostname", ""), "HOME=/root"},
                    .user = config.value("User", ""),
                    .folder = config.value("WorkingDir", ""),
                    .has_input = config.value("OpenStdin", false)};
    // An image's own command goes with its own entrypoint.
    const auto arguments =
        config.contains("Entrypoint") && !config.contains("Cmd") ? std::vector<std::string>() : words("Cmd");
    command.words.insert(command.words.end(), arguments.begin(), arguments.end());
    add_environment(command, defaults);
    add_environment(command, config);
    return command;
}

Task<void> hear(Host& host, ContainerPointer container, int stream, stream_descriptor pipe) {
    ++container->open_outputs;
    std::string rest;
    while (true) {
        const auto piece = co_await read_pipe(pipe);
        if (piece.empty()) {
            break;
        }
        const auto listeners = container->listeners;
        for (const auto& listener : listeners) {
            auto frame = stream_frame(stream, piece);
            const auto due = host.way.to_client(frame.size());
            co_await listener->frames.put(due, std::move(frame));
        }
        rest += piece;
        for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n')) {
            container->log.emplace_back(stream, rest.substr(0, end + 1));
            rest.erase(0, end + 1);
        }
        if (container->log.size() > most_lines) {
            const auto more = container->log.size() - most_lines;
            container->log.erase(container->log.begin(),
                                 container->log.begin() + static_cast<std::ptrdiff_t>(more));
            container->log_begin += more;
        }
        container->changed.notify();
    }
    if (!rest.empty()) {
        container->log.emplace_back(stream, rest);
    }
    --container->open_outputs;
    container->changed.notify();
}

} // namespace

void add_environment(Command& command, const json& config) {
    for (const auto& variable : config.value("Env", std::vector<std::string>())) {
        const auto name = variable.substr(0, variable.find('=') + 1);
        std::erase_if(command.environment, [&](const std::string& other) { return other.starts_with(name); });
        command.environment.push_back(variable);
    }
}

Task<std::string> start_process(World& world, Host& host, ContainerPointer container) {
    const auto executor = world.io.get_executor();
    const Sandbox sandbox{
        .image = container->image->folder,
        .hostname = container->config.value("Hostname", container->id.substr(0, 12)),
        .mounts = container->mounts,
        .shm_size =
            container->config.value("HostConfig", json::object()).value("ShmSize", std::uint64_t{64} << 20U),
        .network = world.fabric.network_of(host.number),
        .place = world.setting.folder + "/root"};
    auto forked = start_first(sandbox, command_of(*container));
    const auto process = world.processes.watch(forked.pid);
    if (forked.input.open()) {
        container->input = std::make_unique<stream_descriptor>(executor, forked.input.release());
    }
    boost::asio::co_spawn(executor,
                          hear(host, container, 1, stream_descriptor(executor, forked.output.release())),
                          boost::asio::detached);
    boost::asio::co_spawn(executor,
                          hear(host, container, 2, stream_descriptor(executor, forked.errors.release())),
                          boost::asio::detached);
    const auto failure = co_await read_pipe_to_end(stream_descriptor(executor, forked.failure.release()));
    if (!failure.empty()) {
        co_await process->ended.wait();
        co_return failure;
    }
    container->process = process;
    co_return "";
}

Task<void> wait_for_end(ContainerPointer container) {
    const auto process = container->process;
    co_await process->ended.wait();
    while (container->open_outputs > 0) {
        co_await container->changed.wait_for_change();
    }
    container->exit_code = process->exit_code;
    container->state = "exited";
    container->finished = now_as_text();
    container->input.reset();
    for (const auto& listener : std::exchange(container->listeners, {})) {
        listener->frames.end();
    }
    container->changed.notify();
}

} // namespace dockdist::scale
