// proxy: stdin and stdout are one ssh connection to a node: for ProxyCommand of the user's own ssh. It says
// nothing but what went wrong.
#include "client/async/async_event.hpp"
#include "client/async/throw_if_cancelled.hpp"
#include "client/async/with_watch.hpp"
#include "client/cli/line/values.hpp"
#include "client/cli/nodes/login_end.hpp"
#include "client/cli/nodes/own_ssh.hpp"
#include "client/container/exec_command.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/wire/layout.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <vector>

namespace dockdist {
namespace {

using boost::asio::posix::stream_descriptor;

constexpr std::size_t largest_read = 128U << 10U;
constexpr std::chrono::seconds longest_farewell{5};
constexpr auto proxy_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

class ErrorsAlone : public ForwardingReporter {
public:
    using ForwardingReporter::ForwardingReporter;
    void on(const Event&) override {}
};

// Our stdin or stdout, to be waited for. A pipe is opened anew, so that nobody who shares it finds it
// non-blocking.
Result<stream_descriptor> own_end(const boost::asio::any_io_executor& executor, int fd, int flags) {
    const auto path = "/proc/self/fd/" + std::to_string(fd);
    int own = ::open(path.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (own < 0) { // a socket cannot be
        own = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
        (void)::fcntl(own, F_SETFL, ::fcntl(own, F_GETFL) | O_NONBLOCK);
    }
    stream_descriptor descriptor(executor);
    boost::system::error_code error;
    if (own < 0 || (descriptor.assign(own, error), error)) {
        return Error{ErrorKind::usage, fd == STDIN_FILENO ? "stdin" : "stdout",
                     "it is not a pipe: " + std::string(own < 0 ? std::strerror(errno) : error.message()),
                     "`dockdist proxy` is for ssh's ProxyCommand: see `dockdist ssh-config`"};
    }
    return descriptor;
}

// To the end of what ssh says; the node hears of that end.
Task<Status> copy_in(stream_descriptor& from, ExecStream& to, bool& has_left) {
    std::vector<char> buffer(largest_read);
    while (true) {
        const auto [error, count] = co_await from.async_read_some(boost::asio::buffer(buffer), proxy_tuple);
        if (error) {
            co_await throw_if_cancelled(error);
            has_left = true;
            co_return co_await to.close_stdin();
        }
        if (auto written = co_await to.write({buffer.data(), count}); !written) {
            co_return written;
        }
    }
}

// Its end is that of the connection.
Task<Status> copy_out(ExecStream& from, stream_descriptor& to, LoginEnd& end) {
    while (true) {
        auto chunk = co_await from.read();
        CO_TRY(chunk);
        if (chunk->end) {
            co_return ok;
        }
        end.take(chunk->stream, chunk->bytes);
        if (chunk->stream == StdStream::err) {
            continue;
        }
        for (std::string_view bytes = chunk->bytes; !bytes.empty();) {
            const auto [error, count] =
                co_await to.async_write_some(boost::asio::buffer(bytes.data(), bytes.size()), proxy_tuple);
            if (error) {
                co_await throw_if_cancelled(error);
                co_return ok; // ssh is gone
            }
            bytes.remove_prefix(count);
        }
    }
}

// ssh ends both ways at once. Then the node's end has its time to end, which it may not hear of where the way
// to it is cut.
Task<Error> copy_in_and_wait(stream_descriptor& from, ExecStream& to, bool& has_left, AsyncEvent& gone) {
    CO_TRY(co_await copy_in(from, to, has_left));
    (void)co_await gone.wait_at_most(longest_farewell);
    gone.set();
    co_return Error{};
}

Task<Result<int>> connect_through(const Context& context, ContainerEngine& engine, const ReadyNode& node,
                                  std::string key) {
    auto input = own_end(context.executor, STDIN_FILENO, O_RDONLY);
    auto output = own_end(context.executor, STDOUT_FILENO, O_WRONLY);
    if (!input || !output) {
        co_return input ? output.error() : input.error();
    }
    ExecConfig config{.command = {layout::init, "login", std::move(key)}, .user = "0:0"};
    auto stream = co_await start_command(engine, node.id, std::move(config));
    CO_TRY(stream);
    AsyncEvent gone(context.executor);
    bool has_left = false; // ssh, before sshd did
    LoginEnd end;
    const auto copied = co_await with_watch(copy_out(**stream, *output, end),
                                            copy_in_and_wait(*input, **stream, has_left, gone));
    if (!copied) {
        co_return gone.is_set() ? Result<int>(exit_codes::interrupted) : copied.error();
    }
    const auto id = (*stream)->id();
    stream->reset(); // the connection is free for the question
    const auto state = co_await engine.inspect_exec(id);
    const int code = state ? state->exit_code.value_or(0) : 0;
    if (auto error = end.error(node.name.str(), code, has_left)) {
        co_return std::move(*error);
    }
    co_return 0;
}

Task<int> run_proxy(Context& given, std::string name) {
    ErrorsAlone reporter(*given.reporter);
    auto context = given;
    context.reporter = &reporter;
    const NodeWords words{.text = name};
    try {
        auto cluster = co_await attach_to_cluster(context, {.named = {words}});
        const auto node = one_node(cluster, words);
        if (!node) {
            co_return context.fail(why_no_node(cluster, node.error()));
        }
        const auto files = login_files(cluster.spec);
        const auto key = files.public_key();
        if (!key) {
            co_return context.fail(key.error().kind == ErrorKind::not_found
                                       ? Error{ErrorKind::config, cluster.spec.name.str(),
                                               "this machine has no key for its nodes",
                                               "`dockdist ssh-config` makes it"}
                                       : key.error());
        }
        // Before ssh sees the node's key, and so before it looks for it: a node that was made anew has a new
        // one.
        if (const auto renewed = files.renew_host_key(node->name.str(), node->record.host_key); !renewed) {
            co_return context.fail(renewed.error());
        }
        const auto code = co_await connect_through(context, *cluster.engines[node->host], *node, *key);
        co_return code ? *code : context.fail(code.error());
    } catch (const boost::system::system_error&) {
        if (context.interrupts->count() == 0) {
            throw;
        }
    }
    co_return exit_codes::interrupted; // ssh ends its proxy so
}

} // namespace

void add_proxy(CLI::App& app, Program& program) {
    auto name = std::make_shared<std::string>();
    auto* command = describe(
        app.add_subcommand(
            "proxy",
            "Act as ProxyCommand for your own ssh: stdin and stdout are a connection to sshd in NODE"),
        command_group::nodes, {"dockdist proxy node-0"});
    command->add_option("NODE", *name, "A node's name or rank")->required();
    command->callback(
        [name, &program] { program.work = [name](Context& context) { return run_proxy(context, *name); }; });
}

} // namespace dockdist
