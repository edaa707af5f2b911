// Whether a folder is the same storage on several nodes (shared/wire/check_mounts.hpp). A token is an empty
// file
// `.dockdist-check-<token>-<node>`; the session's end removes it. All of this as container.user: what a file
// server lets root do says nothing.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/check_mounts.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

// Remembers which files leave_token, in a child of this process, may make.
Status note_tokens(const std::vector<std::string>& folders, const std::string& token);

// The listing is a hash of the names in the folder (of at most 10,000), to compare what was not written to.
wire::MountFacts leave_token(const std::string& folder);

Result<wire::LookForTokens::Answer> answer_look(const wire::LookForTokens& question);
Result<wire::ForgetTokens::Answer> answer_forget(const wire::ForgetTokens& question);
void forget_tokens(); // what is noted is removed, in at most a few seconds

} // namespace dockdist::node
