#include "client/relay/relay_programs.hpp"

#include "shared/core/text.hpp"

#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

namespace dockdist {

Result<const RelayPrograms::One*> RelayPrograms::of(const std::string& machine) {
    const auto architecture = go_architecture(machine);
    if (const auto found = made_.find(architecture); found != made_.end()) {
        return &found->second;
    }
    const auto* toolkit = toolkits_.of(architecture);
    if (toolkit == nullptr) {
        return Error{ErrorKind::config, "",
                     fmt::format("the host is {}, for which this dockdist has no relay", printable(machine)),
                     "it has one for " + toolkits_.architectures()};
    }
    auto program = make_relay_program(toolkit->tar());
    TRY(program);
    constexpr const char* repository = "dockdist-relay";
    One one{.image = ImageRef(repository + (":" + toolkit->version)), .program = std::move(*program)};
    if (HandOn::is_worth_it(hosts_, one.program.tar.size())) {
        one.hand_on = std::make_unique<HandOn>(
            HandedOn{.repository = repository, .tag = toolkit->version, .digest = one.program.digest}, warn_);
    }
    return add(architecture, std::move(one));
}

Task<Limiter::Permit> RelayPrograms::turn(const EngineInfo& engine) {
    const auto executor = co_await boost::asio::this_coro::executor;
    co_return co_await turns_.try_emplace(engine.name + ":" + engine.root_dir, executor, 1)
        .first->second.acquire();
}

} // namespace dockdist
