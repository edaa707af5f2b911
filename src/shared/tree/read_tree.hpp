// Looking into a tree. Nothing here follows a link.
#pragma once

#include "shared/core/regular_file.hpp" // read_piece()
#include "shared/tree/folder.hpp"
#include "shared/wire/tree.hpp"

#include <string>
#include <vector>

namespace dockdist {

// What stands in the folder of that name, sorted by bytes, each with its whole name; nothing when there is no
// such folder, or a link in its place. Files that are being written are left out.
Result<std::vector<wire::TreeEntry>> list_folder(Folder& tree, const std::string& name);

// A regular file for reading; a negative number and errno when it is none.
Fd open_file(Folder& tree, const std::string& name);

// What an open file is, under that name.
Result<wire::TreeEntry> entry_of(int file, const std::string& name);

// 16 bytes that two files share only when their content is the same (XXH3, as rsync uses it: it finds
// changes, and is no protection against somebody who wants to hide one).
Result<std::string> digest_file(Folder& tree, const std::string& name);

} // namespace dockdist
