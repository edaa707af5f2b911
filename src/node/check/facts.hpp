// The question `facts`: everything that a quick check wants to know of one node, in one answer.
//
//   {"ask":"facts", "peers":["node-1", …],                the nodes to log in to and to look up, without this
//   one
//                   "programs":[{"name","argv"}, …],      run with the container's environment
//                   "mounts":["/data", …], "token":"…"}   folders to leave a token in (mounts.hpp)
//
//   {"answer":"facts", "limits":{…}, "system":{…}, "network":{…}, "names":{…}, "nccl":{…}, "ssh":[…],
//                   "mounts":{…}, "programs":{NAME:{"code","output"}, …}}
//
// Each is described beside its function; each may be {"error":{…}} instead.
#pragma once

#include "core/result.hpp"
#include "wire/check.hpp"

namespace dockdist::node {

Result<wire::CheckAnswer> answer_facts(const nlohmann::json& question);

} // namespace dockdist::node
