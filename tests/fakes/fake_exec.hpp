// What a FakeEngine's exec is made of; tests use FakeExec and FakeEngine.
#pragma once

#include "fakes/fake_engine.hpp"

#include <deque>

namespace dockdist {

struct FakeExec::Shared {
    explicit Shared(const boost::asio::any_io_executor& executor)
        : output_changed(executor), input_changed(executor) {}

    ContainerId container{};
    std::string container_name{};
    ExecConfig config{};
    ExecState state{};

    std::deque<ExecStream::Chunk> output{};
    bool output_ended = false;
    std::optional<Error> broken{};
    AsyncEvent output_changed;

    std::string input{};
    bool input_ended = false;
    bool client_gone = false;
    bool started = false; // the container, of one that is attached to
    AsyncEvent input_changed;
};

// Starts `script` and returns the client's end.
std::unique_ptr<ExecStream> start_fake_exec(const boost::asio::any_io_executor& executor,
                                            std::shared_ptr<FakeExec::Shared> shared,
                                            FakeEngine::ExecScript script);

} // namespace dockdist
