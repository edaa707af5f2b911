// A job's starts once more, over other nodes than before: a lost one is left out, a spare takes its place.
// The client and the coordinator of a detached job do it alike, from what stands in the job's policy.
#pragma once

#include "shared/launch/launcher.hpp"

namespace dockdist {

// JobPolicy::relaunch. `request`: with all nodes of the job, the spare ones too, in the order of its
// parts, and what these answered.
std::string relaunch_text(const Launcher& launcher, const LaunchRequest& request);

// A start for each of policy.parts, by policy.members. Each has the policy with it, in which the parts that
// are not in the members have nothing to do. The launch's secret is a new one: the policy, which stands in
// files and answers, does not hold it.
Result<std::vector<wire::JobStart>> relaunch(const wire::JobPolicy& policy);
Result<std::vector<wire::JobStart>> relaunch_with(const wire::JobPolicy& policy, std::string secret); // pure

// The same from launches that were made already, one for each of the members.
std::vector<wire::JobStart> starts_of(wire::JobPolicy policy, std::vector<NodeLaunch> launches);

} // namespace dockdist
