// What flows: commands in containers, attached clients, logs.
#include "scale/stub_engines/container_process.hpp"
#include "scale/stub_engines/exchange.hpp"
#include "scale/stub_engines/pipes.hpp"
#include "shared/core/random.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace dockdist::scale {
namespace {

using boost::asio::posix::stream_descriptor;
using nlohmann::json;
using ExecPointer = std::shared_ptr<Exec>;
using ConnectionPointer = std::shared_ptr<Connection>;

constexpr auto as_values = boost::asio::as_tuple(boost::asio::use_awaitable);

Task<void> create_exec(Exchange x) {
    const auto config = co_await x.body();
    const auto container = x.host.find(x.request.item);
    if (!container) {
        co_return co_await x.fail(404, "No such container: " + x.request.item);
    }
    if (!container->running()) {
        co_return co_await x.fail(409, "container " + container->id + " is not running");
    }
    if (!config.is_object() || config.value("Cmd", std::vector<std::string>()).empty()) {
        co_return co_await x.fail(400, "no exec command specified");
    }
    if (config.value("Tty", false)) {
        co_return co_await x.fail(500, "the stubs have no terminals");
    }
    const auto exec = std::make_shared<Exec>();
    exec->id = random_hex(64);
    exec->container = container;
    exec->config = config;
    x.host.execs[exec->id] = exec;
    co_await x.answer(201, {{"Id", exec->id}});
}

Command command_of_exec(const Exec& exec) {
    const auto& own = exec.container->config;
    Command command{.words = exec.config["Cmd"].get<std::vector<std::string>>(),
                    .environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                    "HOME=/root", "HOSTNAME=" + own.value("Hostname", "")},
                    .user = exec.config.value("User", own.value("User", "")),
                    .folder = exec.config.value("WorkingDir", own.value("WorkingDir", "")),
                    .has_input = exec.config.value("AttachStdin", false)};
    add_environment(command, exec.container->image->config);
    add_environment(command, own);
    add_environment(command, exec.config);
    return command;
}

// From the client to a process's stdin, until the client has no more, or the process takes no more.
Task<void> carry_input(ConnectionPointer connection, std::shared_ptr<stream_descriptor> input) {
    const auto executor = co_await boost::asio::this_coro::executor;
    const auto way = std::make_shared<UnderWay>(executor);
    const auto write = [](std::shared_ptr<UnderWay> from,
                          std::shared_ptr<stream_descriptor> to) -> Task<void> {
        co_await from->deliver([to](std::string bytes) -> Task<bool> {
            const auto [error, count] =
                co_await boost::asio::async_write(*to, boost::asio::buffer(bytes), as_values);
            co_return !error;
        });
        boost::system::error_code ignored;
        ignored = to->close(ignored);
    };
    boost::asio::co_spawn(executor, write(way, input), boost::asio::detached);
    while (true) {
        auto bytes = co_await connection->read_raw();
        if (bytes.empty()) {
            break;
        }
        co_await way->put(connection->arrived(), std::move(bytes));
    }
    way->end();
}

// The stream ends when the process has ended, and not before: who then asks for its exit code is told it.
Task<void> carry_output(Host& host, stream_descriptor pipe, int stream, std::shared_ptr<UnderWay> way,
                        std::shared_ptr<int> open, std::shared_ptr<Process> process) {
    while (true) {
        const auto piece = co_await read_pipe(pipe);
        if (piece.empty()) {
            break;
        }
        auto frame = stream_frame(stream, piece);
        const auto due = host.way.to_client(frame.size());
        co_await way->put(due, std::move(frame));
    }
    if (--*open == 0) {
        co_await process->ended.wait();
        way->end();
    }
}

Task<bool> say(ConnectionPointer connection, std::string bytes) {
    co_return co_await connection->write(std::move(bytes));
}

// Frames to the client until there are no more; then the stream ends. `read`: nobody else reads what the
// client says.
Task<void> deliver_frames(ConnectionPointer connection, std::shared_ptr<UnderWay> way, bool read) {
    if (read) {
        hear_out(connection);
    }
    co_await way->deliver([connection](std::string bytes) { return say(connection, std::move(bytes)); });
    connection->finish();
}

Task<Forked> begin_exec(Exchange x, ExecPointer exec, std::string& failure) {
    const auto executor = x.world.io.get_executor();
    Forked forked;
    try {
        forked = start_beside(exec->container->process->pid, command_of_exec(*exec));
    } catch (const std::system_error& error) {
        failure = error.what();
        co_return forked;
    }
    exec->process = x.world.processes.watch(forked.pid);
    failure = co_await read_pipe_to_end(stream_descriptor(executor, forked.failure.release()));
    co_return forked;
}

Task<void> start_exec(Exchange x) {
    (void)co_await x.connection->read_body(x.request);
    const auto found = x.host.execs.find(x.request.item);
    if (found == x.host.execs.end()) {
        co_return co_await x.fail(404, "No such exec instance: " + x.request.item);
    }
    const auto exec = found->second;
    if (std::exchange(exec->started, true)) {
        co_return co_await x.fail(409, "Error: Exec command " + exec->id + " has already run");
    }
    if (!exec->container->running()) {
        co_return co_await x.fail(409, "Container " + exec->container->id + " is not running");
    }
    std::string failure;
    auto forked = co_await begin_exec(x, exec, failure);
    (void)co_await x.connection->begin_stream(x.request);
    const auto executor = x.world.io.get_executor();
    const auto way = std::make_shared<UnderWay>(executor);
    if (!failure.empty()) { // told as the command's own output, as engines do
        exec->failed = 126;
        auto words = stream_frame(
            1, "OCI runtime exec failed: exec failed: unable to start container process: " + failure +
                   ": unknown\r\n");
        const auto due = x.host.way.to_client(words.size());
        co_await way->put(due, std::move(words));
        way->end();
        co_return co_await deliver_frames(x.connection, way, true);
    }
    const auto open = std::make_shared<int>(2);
    const auto output = [&](Fd& fd, int stream) {
        boost::asio::co_spawn(
            executor,
            carry_output(x.host, stream_descriptor(executor, fd.release()), stream, way, open, exec->process),
            boost::asio::detached);
    };
    output(forked.output, 1);
    output(forked.errors, 2);
    const bool has_input = forked.input.open();
    if (has_input) {
        const auto input = std::make_shared<stream_descriptor>(executor, forked.input.release());
        boost::asio::co_spawn(executor, carry_input(x.connection, input), boost::asio::detached);
    }
    co_await deliver_frames(x.connection, way, !has_input);
}

Task<void> inspect_exec(Exchange x) {
    const auto found = x.host.execs.find(x.request.item);
    if (found == x.host.execs.end()) {
        co_return co_await x.fail(404, "No such exec instance: " + x.request.item);
    }
    const auto& exec = *found->second;
    const bool ended = exec.process && exec.process->ended.is_set();
    json code;
    if (exec.failed) {
        code = *exec.failed;
    } else if (ended) {
        code = exec.process->exit_code;
    }
    co_await x.answer(200, {{"ID", exec.id},
                            {"Running", exec.started && !exec.failed && !ended},
                            {"ExitCode", code},
                            {"Pid", exec.failed || !exec.process ? 0 : exec.process->pid},
                            {"ContainerID", exec.container->id},
                            {"CanRemove", ended}});
}

// Before the container's start or after it; what it has said before is in the log alone.
Task<void> attach(Exchange x, std::shared_ptr<Container> container) {
    (void)co_await x.connection->read_body(x.request);
    (void)co_await x.connection->begin_stream(x.request);
    const auto executor = x.world.io.get_executor();
    const auto listener = std::make_shared<Listener>(executor);
    container->listeners.push_back(listener);
    const auto input = [](Exchange exchange, std::shared_ptr<Container> to) -> Task<void> {
        while (true) {
            auto bytes = co_await exchange.connection->read_raw();
            if (bytes.empty()) {
                break;
            }
            co_await wait_until(exchange.connection->arrived());
            while (to->state == "created") {
                co_await to->changed.wait_for_change();
            }
            if (to->input) {
                (void)co_await boost::asio::async_write(*to->input, boost::asio::buffer(bytes), as_values);
            }
        }
        if (to->config.value("StdinOnce", false)) {
            to->input.reset();
        }
    };
    const bool has_input = x.request.get("stdin") == "1" && container->config.value("OpenStdin", false);
    if (has_input) {
        boost::asio::co_spawn(executor, input(x, container), boost::asio::detached);
    }
    co_await deliver_frames(x.connection, std::shared_ptr<UnderWay>(listener, &listener->frames), !has_input);
    std::erase(container->listeners, listener);
}

Task<void> logs(Exchange x, std::shared_ptr<Container> container) {
    const bool follow = x.request.get("follow") == "1";
    const auto wanted = [&](int stream) { return x.request.get(stream == 1 ? "stdout" : "stderr") == "1"; };
    std::size_t tail = container->log.size();
    const auto text = x.request.get("tail", "all");
    std::from_chars(text.data(), text.data() + text.size(), tail);
    auto next = container->log_begin + container->log.size() - std::min(tail, container->log.size());
    (void)co_await x.connection->begin_chunks(200, "application/vnd.docker.multiplexed-stream");
    if (follow) {
        hear_out(x.connection, [container] { container->changed.notify(); });
    }
    while (true) {
        std::string frames;
        for (next = std::max(next, container->log_begin); next < container->log_begin + container->log.size();
             ++next) {
            const auto& [stream, line] = container->log[next - container->log_begin];
            frames += wanted(stream) ? stream_frame(stream, line) : "";
        }
        if (!frames.empty() && !co_await x.connection->chunk(std::move(frames))) {
            co_return;
        }
        if (!follow || !container->running() || x.connection->has_left()) {
            break;
        }
        co_await container->changed.wait_for_change();
    }
    (void)co_await x.connection->chunk("");
}

} // namespace

Task<bool> handle_streams(Exchange x) {
    const auto& call = x.request.call;
    if (call == "POST /containers/X/exec") {
        co_await create_exec(x);
    } else if (call == "POST /exec/X/start") {
        co_await start_exec(x);
    } else if (call == "GET /exec/X/json") {
        co_await inspect_exec(x);
    } else if (call == "POST /containers/X/attach" || call == "GET /containers/X/logs") {
        if (const auto container = x.host.find(x.request.item); !container) {
            co_await x.fail(404, "No such container: " + x.request.item);
        } else if (call.starts_with("GET")) {
            co_await logs(x, container);
        } else {
            co_await attach(x, container);
        }
    } else {
        co_return false;
    }
    co_return true;
}

} // namespace dockdist::scale
