// What a failed job says that it did not find, and whether that is here and was left out by a rule.
#pragma once

#include "client/sync/local_tree.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// Pure: what lines name that say of something that it is not there: files, folders, and modules of Python as
// the files that they would be. As they are written there, each once, at most 32.
std::vector<std::string> missing_paths(std::string_view text);

// Pure: the name within a tree that stands at `target` of what a program names that runs in `folder`; both
// are absolute. Empty: it is not in there.
std::string name_in_tree(std::string_view path, const std::string& folder, const std::string& target);

// Pure: which rule it is, and how to have the file all the same: "`*.bin` in .gitignore:3".
std::string rule_text(const IgnoreRules::Reason& reason);
std::string how_to_send(const IgnoreRules::Reason& reason);

} // namespace dockdist
