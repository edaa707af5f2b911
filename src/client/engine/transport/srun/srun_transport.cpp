#include "client/async/shared_run.hpp"
#include "client/engine/transport/handshakes.hpp"
#include "client/engine/transport/srun/own_engine.hpp"
#include "client/engine/transport/ssh/remote_socket.hpp"
#include "client/engine/transport/transport.hpp"

#include <algorithm>
#include <cstdlib>
#include <sys/utsname.h>
#include <unistd.h>
#include <utility>

namespace dockdist {
namespace {

using namespace std::chrono_literals;
using SrunStream = Result<std::unique_ptr<ByteStream>>;

constexpr std::chrono::milliseconds least_step_limit = 30s; // a busy controller takes its time

std::string own_machine() {
    utsname name{};
    ::uname(&name);
    return name.machine;
}

class SrunTransport final : public Transport {
public:
    SrunTransport(boost::asio::any_io_executor executor, EngineAddress address, NodeProgram program,
                  std::chrono::milliseconds limit)
        : shared_(
              std::make_shared<Shared>(std::move(executor), std::move(address), std::move(program), limit)) {}
    ~SrunTransport() override { shared_->step.reset(); } // streams hold theirs

    Task<SrunStream> connect() override { return connect(shared_); }

private:
    struct Shared {
        Shared(boost::asio::any_io_executor where, EngineAddress what, NodeProgram give,
               std::chrono::milliseconds longest)
            : executor(std::move(where)), address(std::move(what)), program(std::move(give)),
              limit(std::max(longest, least_step_limit)), stepping(executor), starting(executor) {}
        boost::asio::any_io_executor executor;
        EngineAddress address;
        NodeProgram program;
        std::string machine = own_machine(); // until the node says that it is another
        std::chrono::milliseconds limit;
        NodeStep::Handle step{};
        SharedRun<Result<NodeStep::Handle>> stepping;
        SharedRun<Status> starting;
    };
    using SharedPointer = std::shared_ptr<Shared>;

    static Task<SrunStream> connect(SharedPointer shared) {
        const auto* const job = std::getenv("SLURM_JOB_ID");
        const auto place = slurm_place(shared->address, job == nullptr ? "" : job);
        CO_TRY(place);
        const bool own = shared->address.scheme == EngineAddress::Scheme::srun_podman;
        const auto folder = engine_folder(*place, ::geteuid());
        const auto& named = shared->address.path;
        const auto path = own             ? engine_socket(folder)
                          : named.empty() ? std::string(default_engine_socket)
                                          : named;
        bool may_start = own;
        for (bool again = true;;) {
            if (shared->step && shared->step->over()) {
                shared->step.reset();
            }
            const bool old = shared->step != nullptr;
            const auto step =
                old ? Result<NodeStep::Handle>(shared->step) : co_await one_step(shared, *place);
            CO_TRY(step);
            auto opened = co_await NodeStep::open(*step, path);
            if (!opened && old && std::exchange(again, false)) {
                continue; // an old step may turn out to be over only now
            }
            CO_TRY(opened);
            if (opened->stream) {
                co_return std::move(opened->stream);
            }
            if (!is_absent(*opened->refusal) || !std::exchange(may_start, false)) {
                co_return socket_refusal(shared->address, path, *opened->refusal);
            }
            CO_TRY(co_await start_engine(shared, *place, folder, *step));
        }
    }

    static bool is_absent(const wire::TunnelFailure& refusal) {
        using Kind = wire::TunnelFailure::Kind;
        return refusal.kind == Kind::no_socket || refusal.kind == Kind::refused;
    }

    static Task<Result<NodeStep::Handle>> one_step(SharedPointer shared, SlurmPlace place) {
        return shared->stepping.join([shared, place] { return new_step(shared, place); });
    }

    static Task<Result<NodeStep::Handle>> new_step(SharedPointer shared, SlurmPlace place) {
        const bool own = shared->address.scheme == EngineAddress::Scheme::srun_podman;
        const auto permit = co_await handshake_place(shared->executor);
        auto step = co_await NodeStep::start(shared->executor, place, shared->program, shared->machine,
                                             {.on_host = true, .own_peers = own}, shared->limit);
        if (step) {
            shared->step = *step;
        }
        co_return step;
    }

    static Task<Status> start_engine(SharedPointer shared, SlurmPlace place, std::string folder,
                                     NodeStep::Handle step) {
        return shared->starting.join(
            [shared, place, folder, step] { return new_engine(shared, place, folder, step); });
    }

    static Task<Status> new_engine(SharedPointer shared, SlurmPlace place, std::string folder,
                                   NodeStep::Handle step) {
        const auto permit = co_await handshake_place(shared->executor);
        co_return co_await start_own_engine(shared->executor, place, folder, step);
    }

    SharedPointer shared_;
};

} // namespace

std::unique_ptr<Transport> make_srun_transport(const boost::asio::any_io_executor& executor,
                                               EngineAddress address, NodeProgram node_program,
                                               std::chrono::milliseconds connect_timeout) {
    if (!node_program) {
        return make_refusing_transport(
            {ErrorKind::internal, "", "there is no program for the node's end", ""});
    }
    return std::make_unique<SrunTransport>(executor, std::move(address), std::move(node_program),
                                           connect_timeout);
}

} // namespace dockdist
