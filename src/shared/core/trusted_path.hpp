// Who could have written what lies at a path, beside the user of this process and root. The user is that of
// the effective id and, where root has come by sudo, the one who called it (SUDO_UID).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace dockdist {

struct OtherWriter {
    std::string text{};     // what stands there, printable: "/srv/a is ada's", "everybody may write to /srv"
    bool everybody = false; // any user of this machine, not only one or some
};

// The first one along the whole path, from / on and through each link: folders, links and the file at the end
// are the user's or root's, and nobody else may write to them. A sticky folder, as /tmp, may be everybody's:
// nobody takes away there what is not theirs. A user's own group, with no other member, is nobody else.
// `opened`: what has been read from there, which the path must still lead to; it is judged in its place.
std::optional<OtherWriter> other_writer(const std::filesystem::path& path,
                                        const struct stat* opened = nullptr);

// The same of a file that was come upon and not named by anybody: the file and its folder are the user's own,
// not root's either, and the folder nobody else's to write to, sticky or not.
std::optional<OtherWriter> other_writer_of_found(const std::filesystem::path& path,
                                                 const struct stat& opened);

} // namespace dockdist
