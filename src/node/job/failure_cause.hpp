// What a node can tell of a failure beside its code, from what it sees there at that moment.
#pragma once

#include "node/job/supervisor.hpp"
#include "shared/job_state/job_text.hpp"
#include "shared/wire/job.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

// A command that would fail in any case, with the code that it would have.
struct HopelessCommand {
    int code = 0;
    Cause cause{};
};
// Python and shells that are given a script which is not there: launchers bury that in their own traces.
// Nothing where they may find one.
std::optional<HopelessCommand> find_hopeless(const std::vector<std::string>& command,
                                             const std::string& workdir, const Environment& environment);

// Sets the failure's cause and advice, where one is found and none is known. Called while the processes of
// the job live, of which one may hold the port that another wants.
void explain(wire::JobFailure& failure, const PreparedJob& job);

// Who listens on a port now.
TakenPort holder_of(int port);

// Pure: the port that a rank's last lines complain of; 0: they do not say which. Nothing: of none.
std::optional<int> complained_port(const std::string& tail);

} // namespace dockdist::node
