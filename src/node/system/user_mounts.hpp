// What the user has mounted into the container: the host's files, which a node's preparation leaves as they
// are.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// proc(5), /proc/self/mountinfo: the parent of each mount.
std::map<int, int> parse_mount_parents(std::string_view mountinfo);

// Ends the hint of an error about something there that would have to change.
inline constexpr const char* never_written = "; dockdist does not write to a host's files";

class UserMounts {
public:
    // `targets`: container.mounts. Looks at the mounts that are there now.
    explicit UserMounts(const std::vector<std::string>& targets);

    // Whether an entry that is made, replaced or changed at `path` would be in one of them: in the mount
    // itself, by a link that leads there, or in what the host has mounted below its folder. What the engine
    // or dockdist has mounted over a part of it is not theirs.
    bool hold(const std::string& path) const;

private:
    std::map<int, int> parents_{};
    std::set<int> users_{}; // mounts by their number
    std::set<int> own_{};
};

} // namespace dockdist::node
