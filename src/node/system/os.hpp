// Thin, checked wrappers of system calls. Nothing here follows a symbolic link at the last component of a
// path.
#pragma once

#include "shared/core/fd.hpp"
#include "shared/core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

struct Owner {
    uid_t uid = 0;
    gid_t gid = 0;
};

// "what: No space left on device".
Error system_error(const std::string& what, int number);

// Nothing that is no file of its own (a FIFO, a device): to open that, or to read it, may take for ever. The
// kernel's files in /proc and /sys are some. not_found where there is none.
Result<Fd> open_regular(const std::string& path, int flags = 0); // over O_RDONLY
Result<std::string> read_file(const std::string& path, std::size_t limit = 64U << 20U);
std::string read_file_or_empty(const std::string& path);
Status write_all(int fd, std::string_view bytes);
// shared/core/new_file.hpp.
enum class OnDisk { some_day, at_once };
Status replace_file(const std::string& path, std::string_view content, mode_t mode, Owner owner = {},
                    OnDisk on_disk = OnDisk::some_day);
// A folder and the names in it.
Status sync_folder_at(const std::string& path);
// For files that are mounts and cannot be renamed over.
Status write_in_place(const std::string& path, std::string_view content);
// Makes the folder, or checks that the one which is there is a real one of that owner; then sets the mode.
Status make_folder(const std::string& path, mode_t mode, Owner owner = {});
// make_folder for each missing parent (0755, root) and the folder itself.
Status make_folders(const std::string& path, mode_t mode, Owner owner = {});
// Whether nothing is left; removes `most` entries at most. Never leaves the file system's tree below `path`.
bool remove_tree(const std::string& path, std::size_t most = std::numeric_limits<std::size_t>::max());
// Names without . and .., sorted; empty where it is not a folder, or a link to one.
std::vector<std::string> list_folder(const std::string& path);
std::vector<std::string> list_folder(Fd folder);
bool is_executable(const std::string& path);
bool is_folder(const std::string& path);
// What is mounted at exactly a path, in mountinfo's words, with its escapes. Empty: that is no mount point.
struct MountedPart {
    std::string root{};   // in its file system
    std::string source{}; // "/dev/sda1", "server:/export"
};
MountedPart mounted_part(std::string_view mountinfo, std::string_view path);
MountedPart mounted_at(std::string_view path);

std::string read_link(const std::string& path);
std::string current_folder(); // "/" where it has no path

std::int64_t monotonic_ms();
std::int64_t monotonic_us();
std::int64_t unix_ms();

void set_nonblocking(int fd);
// The same file, opened anew: its flags are nobody else's, and it does not block. A socket cannot be opened
// so.
Fd reopen(int fd, int flags);
struct Pipe {
    Fd read{}, write{}; // close-on-exec
};
Result<Pipe> make_pipe();

} // namespace dockdist::node
