// Units for somebody at a keyboard.
#pragma once

#include "node/gpus/held_units.hpp"
#include "node/system/environment.hpp"
#include "node/system/loop.hpp"

#include <string>

namespace dockdist::node {

struct SessionUnits {
    HeldUnits held{};
    std::string visible{}; // for show_gpus(); empty: nothing is to be set
};
// `ask`: a number, or a wire::GpuAsk as JSON. Runs `loop` and waits in line as long as it takes, and says on
// stderr for whom whenever that changes; none where somebody else has stopped the loop. `environment`: the
// session's, which may choose (visible_to).
Result<SessionUnits> reserve_for_session(Loop& loop, const std::string& ask, const std::string& owner,
                                         const Environment& environment);

// "GPU 0 is job-a's (user-a@host, 12 min)": a sentence for a session that has not asked for any; empty where
// nobody has one.
std::string who_has_units();

} // namespace dockdist::node
