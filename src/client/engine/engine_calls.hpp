// What the groups of calls in endpoints/ have in common: the session. An engine call is declared in
// container_engine.hpp and written once, in the class of its group; DockerEngine is all groups together.
//
// Each call begins by taking the session for itself: one that is being cancelled may outlive the engine
// object.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/engine/engine_session.hpp"

#include <memory>
#include <utility>

namespace dockdist {

using Session = std::shared_ptr<EngineSession>;

class EngineCalls : public ContainerEngine {
protected:
    explicit EngineCalls(Session session) : session_(std::move(session)) {}
    const Session session_;
};

} // namespace dockdist
