// Inside FakeEngine; tests use fake_engine.hpp.
#pragma once

#include "fakes/fake_engine.hpp"

#include <deque>

namespace dockdist {

// What a follower of events or of a log waits for.
struct FakeEngine::Followed {
    explicit Followed(const boost::asio::any_io_executor& executor) : changed(executor) {}
    AsyncEvent changed;
    EventFilter filter{};
    std::deque<EngineEvent> events{};
    std::string log_of{}; // a container's name
    std::string log{};
    bool ended = false;
};

bool has_labels(const Labels& labels, const std::vector<std::string>& wanted);

} // namespace dockdist
