#include "fakes/fake_exec.hpp"

#include "shared/core/exit_codes.hpp"

#include <boost/asio/co_spawn.hpp>

namespace dockdist {
namespace {

class FakeExecStream final : public ExecStream {
public:
    explicit FakeExecStream(std::shared_ptr<FakeExec::Shared> shared) : shared_(std::move(shared)) {}
    ~FakeExecStream() override {
        shared_->client_gone = true;
        shared_->input_ended = true;
        shared_->input_changed.notify();
    }

    Task<Result<Chunk>> read() override { return read(shared_); }
    Task<Status> write(std::span<const char> bytes) override {
        return write(shared_, std::string(bytes.data(), bytes.size()));
    }
    Task<Status> close_stdin() override { return close(shared_); }

private:
    static Task<Result<Chunk>> read(std::shared_ptr<FakeExec::Shared> shared) {
        while (true) {
            if (!shared->output.empty()) {
                Chunk chunk = std::move(shared->output.front());
                shared->output.pop_front();
                co_return chunk;
            }
            if (shared->broken) {
                co_return *shared->broken;
            }
            if (shared->output_ended) {
                co_return Chunk{StdStream::out, "", true};
            }
            co_await shared->output_changed.wait_for_change();
        }
    }
    static Task<Status> write(std::shared_ptr<FakeExec::Shared> shared, std::string bytes) {
        if (shared->broken) {
            co_return *shared->broken;
        }
        shared->input += bytes;
        shared->input_changed.notify();
        co_return ok;
    }
    static Task<Status> close(std::shared_ptr<FakeExec::Shared> shared) {
        shared->input_ended = true;
        shared->input_changed.notify();
        co_return ok;
    }

    std::shared_ptr<FakeExec::Shared> shared_;
};

} // namespace

const ExecConfig& FakeExec::config() const {
    return shared_->config;
}
const ContainerId& FakeExec::container() const {
    return shared_->container;
}
const std::string& FakeExec::container_name() const {
    return shared_->container_name;
}

void FakeExec::out(std::string bytes) {
    shared_->output.push_back({StdStream::out, std::move(bytes), false});
    shared_->output_changed.notify();
}

void FakeExec::err(std::string bytes) {
    shared_->output.push_back({StdStream::err, std::move(bytes), false});
    shared_->output_changed.notify();
}

Task<std::optional<std::string>> FakeExec::read_line() {
    const auto shared = shared_;
    while (true) {
        if (const auto end = shared->input.find('\n'); end != std::string::npos) {
            std::string line = shared->input.substr(0, end);
            shared->input.erase(0, end + 1);
            co_return line;
        }
        if (shared->input_ended) {
            co_return std::nullopt;
        }
        co_await shared->input_changed.wait_for_change();
    }
}

Task<std::string> FakeExec::read_some() {
    const auto shared = shared_;
    while (shared->input.empty() && !shared->input_ended) {
        co_await shared->input_changed.wait_for_change();
    }
    co_return std::exchange(shared->input, {});
}

Task<std::string> FakeExec::read_all() {
    const auto shared = shared_;
    while (!shared->input_ended) {
        co_await shared->input_changed.wait_for_change();
    }
    co_return std::exchange(shared->input, {});
}

bool FakeExec::client_gone() const {
    return shared_->client_gone;
}

void FakeExec::break_stream(Error error) {
    shared_->broken = std::move(error);
    shared_->input_ended = true;
    shared_->output_changed.notify();
    shared_->input_changed.notify();
}

int FakeExec::runtime_dies(std::string words) {
    out(std::move(words));
    shared_->state.pid = 0;
    return exit_codes::cannot_start;
}

std::unique_ptr<ExecStream> start_fake_exec(const boost::asio::any_io_executor& executor,
                                            std::shared_ptr<FakeExec::Shared> shared,
                                            FakeEngine::ExecScript script) {
    shared->state.running = true;
    shared->state.pid = 1000;
    // The script lives in the coroutine's frame: a lambda's captures must outlive the coroutine made from it.
    const auto play = [](FakeEngine::ExecScript what,
                         std::shared_ptr<FakeExec::Shared> inside) -> Task<void> {
        const int code = co_await what(FakeExec(inside));
        inside->state.running = false;
        inside->state.exit_code = code;
        inside->output_ended = true;
        inside->output_changed.notify();
    };
    boost::asio::co_spawn(executor, play(std::move(script), shared), [shared](std::exception_ptr exception) {
        if (exception) {
            std::rethrow_exception(exception); // out of io_context::run: the test fails
        }
    });
    return std::make_unique<FakeExecStream>(std::move(shared));
}

} // namespace dockdist
