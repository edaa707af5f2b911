// Whether a folder is the same storage on several nodes: each leaves a token of its own in it and looks for
// the others'. A token is an empty file `.dockdist-check-<token>-<node>`; the session's end removes it.
// All of this as container.user: what a file server lets root do says nothing.
//
//   in `facts`     {"mounts":["/data"], "token":"1a2b3c4d"}   → {"mounts":{"/data":{…}}}
//   {"ask":"look", "mounts":["/data"], "token":"1a2b3c4d", "nodes":["node-0", …]}
//                                           → {"seen":{"/data":["node-0","node-2"]}}
//   {"ask":"forget"}                        removes this node's tokens
#pragma once

#include "core/result.hpp"
#include "wire/check.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

// Remembers which files leave_token, in a child of this process, may make. A token is letters and digits.
Status note_tokens(const std::vector<std::string>& folders, const std::string& token);

// {"folder":true,"written":true,"kind":"nfs"}; "written":false with "why" ("Permission denied"), and then
// {"listing":"…"}, a hash of the names in the folder (of at most 10,000), to compare what was not written to.
// "folder":false for a file or a socket.
nlohmann::json leave_token(const std::string& folder);

Result<wire::CheckAnswer> answer_look(const nlohmann::json& question);
Result<wire::CheckAnswer> answer_forget(const nlohmann::json& question);
void forget_tokens(); // what is noted is removed, in at most a few seconds

} // namespace dockdist::node
