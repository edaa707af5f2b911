// dockdist-relay for the engines of each architecture, made when the first of them is met: a host runs what
// its engine is made for, whatever the cluster's image is.
#pragma once

#include "client/async/limiter.hpp"
#include "client/relay/hand_on.hpp"
#include "client/relay/relay_program.hpp"
#include "shared/core/toolkits.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace dockdist {

class RelayPrograms {
public:
    struct One {
        ImageRef image{}; // "dockdist-relay:VERSION"
        RelayProgram program{};
        std::unique_ptr<HandOn> hand_on{}; // nullptr: all get it from here
    };

    // For `hosts` of one run. `warn`: see HandOn.
    RelayPrograms(Toolkits toolkits, std::size_t hosts, std::function<void(const Error&)> warn)
        : toolkits_(std::move(toolkits)), hosts_(hosts), warn_(std::move(warn)) {}

    // `machine`: EngineInfo::architecture. It stays where it is. Errors: config, when there is no toolkit for
    // that.
    Result<const One*> of(const std::string& machine);
    // The permit to bring its image to this engine: two hosts of the file may be one engine, and of two that
    // import at once one image loses its name, and stays.
    Task<Limiter::Permit> turn(const EngineInfo& engine);
    // One that is made already.
    const One* add(const std::string& architecture, One one) {
        return &made_.insert_or_assign(architecture, std::move(one)).first->second;
    }

private:
    Toolkits toolkits_;
    std::size_t hosts_;
    std::function<void(const Error&)> warn_;
    std::map<std::string, One> made_{};      // by architecture
    std::map<std::string, Limiter> turns_{}; // by the machine's name and the engine's folder
};

} // namespace dockdist
