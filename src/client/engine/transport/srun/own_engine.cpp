#include "client/engine/transport/srun/own_engine.hpp"

#include "client/async/child_process.hpp"
#include "client/async/pause.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <sys/wait.h>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto engine_limit = 60s;
constexpr auto engine_pause = 200ms; // between two looks at its socket
constexpr auto log_limit = 20s;

// The step's exit code once it has ended.
std::optional<int> ended_code(pid_t srun) {
    int status = 0;
    if (srun <= 0 || ::waitpid(srun, &status, WNOHANG) != srun) {
        return std::nullopt;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

Task<Error> not_begun(boost::asio::any_io_executor executor, SlurmPlace place, std::string folder,
                      std::string what) {
    const auto log = co_await run_and_read(executor, engine_log_step(place, folder), log_limit);
    const auto words = log ? printable(last_line(log->output)) : std::string();
    co_return Error{
        ErrorKind::unreachable, "",
        fmt::format("{} on {}{}{}", what, place.node, words.empty() ? "" : ": ", words),
        fmt::format("rootless Podman needs podman, newuidmap and your lines in /etc/subuid and "
                    "/etc/subgid there; try it: srun --jobid={} --overlap -N1 -n1 -w {} podman info",
                    place.job, place.node)};
}

} // namespace

Task<Status> start_own_engine(boost::asio::any_io_executor executor, SlurmPlace place, std::string folder,
                              NodeStep::Handle step) {
    const auto srun = start_detached(engine_step(place, folder));
    CO_TRY(srun);
    const auto until = std::chrono::steady_clock::now() + engine_limit;
    while (true) {
        const auto code = ended_code(*srun); // before the look: what has come since is then seen by it
        const auto opened = co_await NodeStep::open(step, engine_socket(folder));
        CO_TRY(opened);
        if (opened->stream || opened->refusal->kind == wire::TunnelFailure::Kind::denied) {
            co_return ok; // who connects next hears the same
        }
        if (code == foreign_folder) {
            co_return Error{
                ErrorKind::unreachable, "",
                fmt::format("{} on {} belongs to somebody else", folder, place.node),
                "the engine's socket would be theirs: remove it, or tell the site's administrators"};
        }
        if (code && *code != engine_elsewhere) {
            co_return co_await not_begun(executor, place, folder, "Podman does not start");
        }
        if (std::chrono::steady_clock::now() >= until) {
            auto error = co_await not_begun(
                executor, place, folder,
                fmt::format("Podman accepts no connections within {} s", engine_limit.count()));
            error.kind = ErrorKind::timeout;
            co_return error;
        }
        co_await pause_for(engine_pause);
    }
}

} // namespace dockdist
