// The container as PID 1 finds it, made fit for sshd and jobs.
#pragma once

#include "core/result.hpp"

namespace dockdist::node {

// What PID 1 does before anything else: the state folder, the container's environment on record, and the few
// places that programs take for granted and small images lack. State of an earlier start is removed.
Status prepare_container();

} // namespace dockdist::node
