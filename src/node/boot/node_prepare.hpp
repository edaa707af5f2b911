// The container as PID 1 finds it, made fit for sshd and jobs.
#pragma once

#include "node/system/user_mounts.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/join.hpp"

namespace dockdist::node {

// What PID 1 does before anything else: the state folder, and the container's environment on record. State of
// an earlier start is removed.
Status prepare_container();

// What join does before anything else, as only it knows whose the mounts are: the few places that programs
// take for granted and small images lack.
Status prepare_places(const UserMounts& mounts);

// What the file says of variables and of the folder of jobs, over what the container was created with.
Status take_settings(const wire::NodeSettings& settings);

} // namespace dockdist::node
