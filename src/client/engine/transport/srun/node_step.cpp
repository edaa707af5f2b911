#include "client/engine/transport/srun/node_step.hpp"

#include "client/async/async_event.hpp"
#include "client/async/with_timeout.hpp"
#include "client/engine/transport/connect_error.hpp"
#include "client/engine/transport/socket_stream.hpp"
#include "client/engine/transport/srun/step_stream.hpp"
#include "client/tunnel/tunnel_client.hpp"
#include "shared/core/units.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include <csignal>
#include <utility>

namespace dockdist {
namespace {

using boost::asio::local::stream_protocol;

// Tells the end of the step where a connection of it breaks off.
class StepConnection final : public ByteStream {
public:
    StepConnection(stream_protocol::socket socket, NodeStep::Handle step)
        : step_(std::move(step)), socket_(std::move(socket)) {}

    Task<Result<std::size_t>> read_some(std::span<char> buffer) override {
        const auto count = co_await socket_.read_some(buffer);
        if ((!count || *count == 0) && step_->over()) {
            co_return *step_->over();
        }
        co_return count;
    }
    Task<Status> write(std::span<const char> bytes) override {
        const auto written = co_await socket_.write(bytes);
        if (!written && step_->over()) {
            co_return *step_->over();
        }
        co_return written;
    }
    Task<Status> shutdown_send() override { return socket_.shutdown_send(); }
    void close() noexcept override { socket_.close(); }
    bool stale() override { return socket_.stale(); }

private:
    NodeStep::Handle step_;
    SocketStream<stream_protocol::socket> socket_;
};

struct StepAnswer {
    explicit StepAnswer(const boost::asio::any_io_executor& executor) : came(executor) {}
    AsyncEvent came;
    std::optional<wire::TunnelFailure> refusal{};
    bool answered = false;
};

// The client outlives its coroutine's frame only this way.
Task<void> carry_for(std::shared_ptr<TunnelClient> client, stream_protocol::socket socket, std::string path,
                     std::shared_ptr<StepAnswer> answer) {
    co_await client->carry(std::move(socket), {.host = std::move(path)}, [answer](const auto& refusal) {
        answer->answered = true;
        answer->refusal = refusal;
        answer->came.set();
    });
    answer->came.set();
}

} // namespace

struct NodeStep::State {
    State(const boost::asio::any_io_executor& where, SlurmPlace what, std::unique_ptr<ChildProcess> srun)
        : executor(where), place(std::move(what)), stream(std::move(srun)),
          client(std::make_shared<TunnelClient>(where)), changed(where) {}
    boost::asio::any_io_executor executor;
    SlurmPlace place;
    StepStream stream;
    std::shared_ptr<TunnelClient> client;
    AsyncEvent changed; // it can carry, or it is over
    std::optional<Error> over{};
};

NodeStep::~NodeStep() {
    state_->stream.srun().let_go(); // srun ends the step when its stdin ends
}

const std::optional<Error>& NodeStep::over() const {
    return state_->over;
}

Task<Result<NodeStep::Handle>> NodeStep::start(boost::asio::any_io_executor executor, SlurmPlace place,
                                               NodeProgram program, std::string& machine, wire::TunnelAsk ask,
                                               std::chrono::milliseconds limit) {
    auto bytes = program(machine);
    CO_TRY(bytes);
    std::string other;
    auto step = co_await try_start(executor, place, std::move(*bytes), machine, other, ask, limit);
    if (step || other.empty() || other == machine) {
        co_return step;
    }
    bytes = program(other);
    CO_TRY(bytes);
    machine = other;
    co_return co_await try_start(executor, place, std::move(*bytes), machine, other, ask, limit);
}

Task<Result<NodeStep::Handle>> NodeStep::try_start(boost::asio::any_io_executor executor, SlurmPlace place,
                                                   std::shared_ptr<const std::string> program,
                                                   std::string machine, std::string& other,
                                                   wire::TunnelAsk ask, std::chrono::milliseconds limit) {
    ask.lease_ms = TunnelTimes{}.lease.count();
    auto srun = ChildProcess::start(executor, tunnel_step(place, ask, program->size(), machine));
    CO_TRY(srun);
    const auto state = std::make_shared<State>(executor, std::move(place), std::move(*srun));
    const Handle step(new NodeStep(state));
    const Error late{ErrorKind::timeout, "", "", ""};
    const auto begun = co_await with_timeout(begin(state, std::move(program)), limit, late);
    if (begun) {
        co_return step;
    }
    auto& child = state->stream.srun();
    const bool is_late = begun.error().kind == ErrorKind::timeout;
    child.end(SIGKILL); // where it has closed its output, it has said all; else Slurm ends the step with it
    other = other_machine(child.complaints());
    auto error = step_error(state->place,
                            is_late ? fmt::format("no step started within {}", format_duration(limit))
                                    : "srun starts no step",
                            child.complaints());
    if (is_late) {
        error.kind = ErrorKind::timeout;
    } else if (allocation_ended(child.complaints())) {
        error.kind = ErrorKind::config; // as outside of an allocation
    }
    co_return error;
}

Task<Status> NodeStep::begin(std::shared_ptr<State> state, std::shared_ptr<const std::string> program) {
    if (const auto sent = co_await state->stream.write(*program); !sent) {
        co_return sent;
    }
    if (const auto begins = co_await state->stream.skip_to_tunnel(); !begins) {
        co_return begins;
    }
    boost::asio::co_spawn(state->executor, run(state), [](std::exception_ptr thrown) {
        if (thrown) {
            std::rethrow_exception(thrown);
        }
    });
    co_await state->changed.wait();
    co_return state->over ? Status(*state->over) : Status(ok);
}

Task<void> NodeStep::run(std::shared_ptr<State> state) {
    const auto ended = co_await state->client->run(state->stream, [state] { state->changed.set(); });
    if (ended || ended.error().kind != ErrorKind::timeout) {
        state->over = step_error(state->place, "the step is over", state->stream.srun().complaints());
    } else {
        state->over = step_error(state->place, "the step says nothing any more", "");
        state->over->kind = ErrorKind::timeout;
    }
    state->changed.set();
}

Task<Result<NodeStep::Opened>> NodeStep::open(Handle step, std::string path) {
    const auto state = step->state_;
    if (state->over) {
        co_return *state->over;
    }
    stream_protocol::socket ours(state->executor);
    stream_protocol::socket theirs(state->executor);
    boost::system::error_code error;
    error = boost::asio::local::connect_pair(ours, theirs, error);
    if (error) {
        co_return stream_error(error);
    }
    set_close_on_exec(ours.native_handle());
    set_close_on_exec(theirs.native_handle());
    const auto answer = std::make_shared<StepAnswer>(state->executor);
    boost::asio::co_spawn(state->executor,
                          carry_for(state->client, std::move(theirs), std::move(path), answer),
                          [](std::exception_ptr thrown) {
                              if (thrown) {
                                  std::rethrow_exception(thrown);
                              }
                          });
    co_await answer->came.wait();
    if (!answer->answered) {
        co_return state->over.value_or(Error{ErrorKind::unreachable, "", "the step ends", ""});
    }
    if (answer->refusal) {
        co_return Opened{.refusal = answer->refusal};
    }
    co_return Opened{.stream = std::make_unique<StepConnection>(std::move(ours), std::move(step))};
}

} // namespace dockdist
