// Ways from "/" that nobody but root could have laid: what root makes, gives away, runs or believes at their
// end is not somebody else's.
#pragma once

#include "shared/core/fd.hpp"

#include <string>
#include <sys/stat.h>

namespace dockdist::node {

struct RootsWay {
    Fd folder{};        // the last folder of the way that is there
    std::string next{}; // below it, and not there, or no folder; empty: the way is there to its end
    int number = 0;     // errno; EACCES: somebody else could have laid a part of it
};

// A link is followed where only root could have put it. In root's folder for all, as /tmp, whose sticky bit
// is set, nobody else can have put a folder of root's, but they may have put a link.
RootsWay roots_way(const std::string& path);

// Whether nobody but root can put anything into the folder, or another in its place. True where it is not
// there and nobody else can make it.
bool is_roots_folder(const std::string& path);

// Whether root alone can have made this program what it is: the file, the way to it, and the same of the
// interpreter that the first line of a script names.
bool is_roots_program(const std::string& path);

// The pure part: whether root alone changes what `status` is of. In a user namespace the files of the
// machine's root, as drivers that an engine brings, show as `overflow`'s, which is nobody's there; they are
// as good on a mount that is `read_only`.
struct MountedAs {
    bool read_only = false;
    bool user_namespace = false;
    uid_t overflow = 65534;
};
bool only_root_changes(const struct stat& status, const MountedAs& mounted);

// Of a script's first bytes, else empty.
std::string interpreter_in(std::string_view first_bytes);

} // namespace dockdist::node
