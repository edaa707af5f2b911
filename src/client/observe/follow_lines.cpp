#include "client/observe/follow_lines.hpp"

#include "client/async/pause.hpp"
#include "client/async/with_timeout.hpp"
#include "client/async/with_watch.hpp"
#include "client/container/exec_command.hpp"
#include "shared/core/text.hpp"

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto between_signs_of_life = 10s;

// Until the stream takes nothing any more.
Task<Error> give_signs_of_life(ExecLines& lines) {
    while (true) {
        co_await pause_for(between_signs_of_life);
        CO_TRY(co_await lines.write("\n"));
    }
}

Task<Result<std::optional<std::string>>> next_of(ExecLines& lines, const FollowedLines& followed) {
    if (!followed.longest_silence) {
        co_return co_await lines.next_line();
    }
    auto silent = followed.at_end;
    silent.kind = ErrorKind::timeout;
    co_return co_await with_timeout(lines.next_line(), *followed.longest_silence, std::move(silent));
}

Task<Status> read_lines(ExecLines& lines, const FollowedLines& followed) {
    while (true) {
        const auto line = co_await next_of(lines, followed);
        CO_TRY(line);
        if (!*line) {
            auto error = followed.at_end;
            const auto why = lines.err().substr(0, lines.err().find('\n')); // a usage text has many lines
            error.message += why.empty() ? "" : ": " + printable(why);
            co_return error;
        }
        if (auto heard = followed.hear(**line); !heard) {
            co_return heard;
        }
    }
}

} // namespace

Task<Error> follow_lines(ContainerEngine& engine, const ReadyNode& node, FollowedLines followed) {
    ExecConfig config;
    config.command = followed.command;
    config.user = "0:0";
    config.stdin_open = true;
    auto exec = co_await start_command(engine, node.id, std::move(config));
    CO_TRY(exec);
    ExecLines lines(std::move(*exec));
    const auto ended = co_await with_watch(read_lines(lines, followed), give_signs_of_life(lines));
    co_return ended.error();
}

} // namespace dockdist
