// A job by its name, from any client: what the commands begin with that look at one.
#pragma once

#include "cli/context.hpp"
#include "job/job_list.hpp"

#include <string>

namespace dockdist {

struct FoundJob {
    Attached cluster{};
    KnownJob job{};
    Errors errors{};    // of nodes that do not answer; the others are looked at
    bool found = false; // else the errors say why
};

// `name` empty: the latest job. `node` not empty: its part on this node alone, whatever the others say.
Task<FoundJob> find_job(Context& context, std::string name, std::string node = "");

} // namespace dockdist
