#include "node/system/user_mounts.hpp"

#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/fd.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <fcntl.h>
#include <optional>

namespace dockdist::node {
namespace {

// The mount that an open file belongs to. Of a descriptor, so that links, and mounts over mounts, are the
// kernel's matter; statx() tells it only from Linux 5.8 on.
std::optional<int> mount_of(const Fd& file) {
    constexpr std::string_view field = "mnt_id:";
    const auto about = read_file_or_empty("/proc/self/fdinfo/" + std::to_string(file.get()));
    for (const auto& line : split(about, '\n')) {
        if (line.starts_with(field)) {
            return whole_number<int>(
                std::string_view(line).substr(line.find_first_not_of("\t ", field.size())));
        }
    }
    return std::nullopt;
}

// Of an entry at `path`, or else of the folder that it would be made in. A link at its end is an entry of its
// folder's; those on the way are followed.
std::optional<int> mount_at(std::string path) {
    int last = O_NOFOLLOW;
    while (true) {
        const Fd file(::open(path.c_str(), O_PATH | O_CLOEXEC | last));
        if (file.open()) {
            return mount_of(file);
        }
        if (path.size() <= 1) {
            return std::nullopt;
        }
        path.resize(std::max<std::size_t>(path.rfind('/'), 1));
        last = 0;
    }
}

} // namespace

std::map<int, int> parse_mount_parents(std::string_view mountinfo) {
    std::map<int, int> parents;
    for (const auto& line : split(mountinfo, '\n')) {
        const auto fields = split(line, ' '); // 36 35 98:0 /root-of-mount /mount/point options …
        const auto id = whole_number<int>(fields[0]);
        const auto parent = fields.size() > 1 ? whole_number<int>(fields[1]) : std::nullopt;
        if (id && parent) {
            parents[*id] = *parent;
        }
    }
    return parents;
}

UserMounts::UserMounts(const std::vector<std::string>& targets)
    : parents_(parse_mount_parents(read_file_or_empty("/proc/self/mountinfo"))) {
    const auto root = mount_at(under_root("/"));
    const auto add = [&root](std::set<int>& mounts, std::optional<int> mount) {
        if (mount && mount != root) {
            mounts.insert(*mount);
        }
    };
    for (const auto& target : targets) {
        const Fd file(::open(under_root(target.c_str()).c_str(), O_PATH | O_CLOEXEC));
        add(users_, file.open() ? mount_of(file) : std::nullopt);
    }
    for (const auto& place : {paths().run, under_root(layout::toolkit), paths().hosts}) {
        const auto mount = mount_at(place);
        add(own_, mount && !users_.contains(*mount) ? mount : std::nullopt);
    }
}

bool UserMounts::hold(const std::string& path) const {
    auto mount = mount_at(path);
    while (mount && !own_.contains(*mount)) {
        if (users_.contains(*mount)) {
            return true;
        }
        const auto parent = parents_.find(*mount);
        mount = parent == parents_.end() || parent->second == *mount ? std::nullopt
                                                                     : std::optional(parent->second);
    }
    return false;
}

} // namespace dockdist::node
