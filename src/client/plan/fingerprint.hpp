// What of a container's configuration is compared with the file: by one hash, and key by key to say what has
// changed. Pure.
#pragma once

#include "client/container/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// Whether a variable of the file is for jobs and sessions alone, which nodes hear of when they join: a change
// of it makes no container.
bool comes_late(std::string_view variable);

// A hash (16 hex digits) of everything in `config` but the labels, and what comes late: equal means that
// nothing has to be made anew.
std::string fingerprint(const ContainerConfig& config);

// For the label beside it: a hash of each key, {"container.shm_size":"1a2b3c4d", …}.
std::string key_digests(const ContainerConfig& config);

// The names of the variables of a container with that label.
std::vector<std::string> created_variables(const Labels& labels);

// "`container.shm_size` and `env.LR` changed": what differs from a label of that kind, in the file's words.
std::string changed_keys_text(std::string_view digests, const ContainerConfig& config);

} // namespace dockdist
